// fetch.mjs: prints what an address of the web gives, by the way of Node that is named: fetch or https.
import https from "node:https";

const [, , way, url] = process.argv;
if (way === "fetch") {
        console.log(await (await fetch(url)).text());
} else {
        https.get(url, (answer) => answer.pipe(process.stdout)).on("error", (error) => {
                console.error(error.message);
                process.exit(1);
        });
}
