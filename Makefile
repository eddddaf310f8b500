# A thin front: Meson builds, scripts set up and test. Each target installs what it lacks (script/setup.sh).

BUILD ?= build
PREFIX ?= /usr/local
MESON_FLAGS ?=

# Each target is a few steps that build on each other; ninja runs in parallel by itself.
.NOTPARALLEL:

.PHONY: all tests demo test test-kernel test-kernel-all bench lint sanitize cross install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@script/setup.sh build
	@meson setup $(BUILD) --prefix=$(PREFIX) $(MESON_FLAGS)

# The unit tests need libraries that the program does not.
tests: $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dtests=true
	@ninja -C $(BUILD)

demo:
	@script/setup.sh demo
	@$(MAKE) --no-print-directory all
	@script/demo.sh $(BUILD)/abatis

test:
	@script/setup.sh test
	@$(MAKE) --no-print-directory all tests
	@BUILD=$(BUILD) test/run.sh

# Other kernels, in qemu: four of them, or eight of both architectures. What is fetched for it stays in ~/.cache/abatis.
test-kernel test-kernel-all:
	@script/setup.sh kernel
	@$(MAKE) --no-print-directory all
	@BUILD=$(abspath $(BUILD)) test/kernel/run.sh $(if $(filter %-all,$@),all,few)

bench:
	@script/setup.sh bench
	@$(MAKE) --no-print-directory all
	@ABATIS=$(abspath $(BUILD)/abatis) bench/run.sh

lint:
	@script/setup.sh lint
	@script/lint.sh

# The same tests with AddressSanitizer and UndefinedBehaviorSanitizer, in a build of their own. Looking for leaks takes
# a second at each exit: the suite "leaks" does it for every way a run can end.
sanitize:
	@script/setup.sh test
	@$(MAKE) --no-print-directory all tests BUILD=build-sanitize MESON_FLAGS="-Db_sanitize=address,undefined -Db_lundef=false"
	@BUILD=build-sanitize ASAN_OPTIONS=detect_leaks=0 test/run.sh unit golden leaks property server mcp escape prepared

# For the other architecture, and for macOS: build-amd64/abatis, or build-arm64/abatis; build-macos-arm64/abatis, build-macos-amd64/abatis.
# For Windows what there is of it, in build-windows/.
cross:
	@script/setup.sh cross
	@test/cross/run.sh
	@script/windows.sh build-windows

install: all
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf build build-*/
