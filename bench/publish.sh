#!/bin/sh
# Writes what a run has measured to results.json and, if launches are among it, to launch.svg: publish.sh DIR OUT MACHINE
#
# DIR has `figures` (part, name and key=value, between tabs) and `bars`, as the measuring programs leave them.
set -eu

dir=$1
out=$2
machine=$3
[ -e "$dir/figures" ] || : >"$dir/figures"

awk -v machine="$machine" -v date="$(date -u +%Y-%m-%d)" -F '\t' '
function quote(text) {
        gsub(/[\\"]/, "\\\\&", text)
        return "\"" text "\""
}
FNR == 1 { files++ }
files == 1 {
        line = "    {\"part\": " quote($1) ", \"name\": " quote($2)
        for (i = 3; i <= NF; i++) {
                split($i, pair, "=")
                line = line ", " quote(pair[1]) ": " pair[2]
        }
        figures[++figure_count] = line "}"
        next
}
match($0, / +[0-9.]+ [<>]= [0-9.]+$/) {
        split(substr($0, RSTART), word, " ")
        name = substr($0, 7, RSTART - 7)
        sub(/ +$/, "", name)
        bars[++bar_count] = "    {\"name\": " quote(name) ", \"value\": " word[1] ", \"wanted\": " \
                            quote(word[2] " " word[3]) ", \"met\": " (/^PASS/ ? "true" : "false") "}"
}
function list(name, items, count, end,    i) {
        print "  " quote(name) ": ["
        for (i = 1; i <= count; i++)
                print items[i] (i < count ? "," : "")
        print "  ]" end
}
END {
        print "{\n  \"date\": " quote(date) ",\n  \"machine\": " quote(machine) ","
        list("figures", figures, figure_count, ",")
        list("bars", bars, bar_count, "")
        print "}"
}' "$dir/figures" "$dir/bars" >"$out/results.json.new"
mv "$out/results.json.new" "$out/results.json"

grep -q '^launch	' "$dir/figures" || exit 0

# One bar for each way to launch, by how many plain spawns it takes, on a logarithmic scale.
awk -v machine="$machine" -F '\t' '
function times_of(    i, pair) {
        for (i = 3; i <= NF; i++)
                if (split($i, pair, "=") == 2 && pair[1] == "times_posix_spawn")
                        return pair[2] + 0
}
function escape(text) {
        gsub(/&/, "\\&amp;", text)
        gsub(/</, "\\&lt;", text)
        return text
}
function add(name, times, is_ours) {
        names[++count] = name
        values[count] = times
        ours[count] = is_ours
        if (times > most)
                most = times
}
$1 == "launch" && $2 == "posix_spawn" { add("posix_spawn, no sandbox", 1, 0) }
$1 == "launch" && $2 ~ /^abatis/ { add("abatis run", times_of(), 1) }
$1 == "launch" && $2 == "bubblewrap" { add($2, times_of(), 0) }
$1 == "launch, not judged" && $2 !~ /^(abatis run|bubblewrap|fork|vfork|sh -c)/ { add($2, times_of(), 0) }
$1 == "library" && $2 == "a job of a prepared sandbox" { add("abatis, prepared (library)", times_of(), 1) }
END {
        for (i = 1; i <= count; i++)
                for (j = count; j > i; j--)
                        if (values[j] < values[j - 1]) {
                                t = values[j]; values[j] = values[j - 1]; values[j - 1] = t
                                t = names[j]; names[j] = names[j - 1]; names[j - 1] = t
                                t = ours[j]; ours[j] = ours[j - 1]; ours[j - 1] = t
                        }
        height = 58 + 26 * count + 22
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"%d\" viewBox=\"0 0 720 %d\" role=\"img\" ", height, height
        print "aria-label=\"What it costs to launch a static true in a sandbox\">"
        print "<style>"
        print "text { font: 13px system-ui, sans-serif; fill: #1f2328 }"
        print ".note { font-size: 11px; fill: #656d76 }"
        print ".ours { fill: #1a7f37 } .other { fill: #8c959f }"
        print "@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #8d96a0 } .ours { fill: #3fb950 } .other { fill: #6e7681 } }"
        print "</style>"
        print "<text x=\"12\" y=\"22\" font-weight=\"600\">Launching a static true: median, in plain spawns</text>"
        print "<text x=\"12\" y=\"40\" class=\"note\">less is better; the scale is logarithmic</text>"
        for (i = 1; i <= count; i++) {
                y = 52 + 26 * i - 26
                # A plain spawn is a stub, so that it can be seen at all.
                width = 14 + 380 * log(values[i]) / log(most > 1 ? most : 10)
                printf "<text x=\"12\" y=\"%d\">%s</text>\n", y + 15, escape(names[i])
                printf "<rect x=\"230\" y=\"%d\" width=\"%.1f\" height=\"18\" rx=\"2\" class=\"%s\"/>\n", y + 2, width, ours[i] ? "ours" : "other"
                printf "<text x=\"%.1f\" y=\"%d\">%s</text>\n", 238 + width, y + 15, \
                       sprintf(values[i] < 10 ? "%.2f" : "%.0f", values[i]) " ×"
        }
        printf "<text x=\"12\" y=\"%d\" class=\"note\">%s</text>\n", height - 8, escape(machine)
        print "</svg>"
}' "$dir/figures" >"$out/launch.svg.new"
mv "$out/launch.svg.new" "$out/launch.svg"
