# chisol: `make help` lists what there is. Everything that is built goes to build/.

VERSION := 0.1.0
BUILD   ?= build

prefix     ?= /usr/local
bindir     ?= $(prefix)/bin
libdir     ?= $(prefix)/lib
includedir ?= $(prefix)/include
datadir    ?= $(prefix)/share
mandir     ?= $(datadir)/man
docdir     ?= $(datadir)/doc/chisol
sysconfdir ?= /etc
confdir     = $(datadir)/chisol/conf
preloaddir  = $(libdir)/chisol
compdir     = $(datadir)/bash-completion/completions
pkgconfdir  = $(datadir)/pkgconfig

# Where all their archives are installed, the five libraries, not libc, are linked into chisol:
# about 0.3 ms less at each start. STATIC_LIBS= links them dynamically, as distributions want it.
STATIC_LIBS ?= $(if $(filter-out /%,$(ARCHIVES)),,1)

ifeq ($(origin CC),default)
CC := gcc
endif
OBJCOPY      ?= objcopy
CLANG        ?= clang-14
CLANG_FORMAT ?= clang-format-14
CLANG_TIDY   ?= clang-tidy-14
PKGS         := libcap-ng libcgroup inih jansson libtraceevent

# CFLAGS and LDFLAGS belong to whoever builds; what the code needs is in BASE_*.
CFLAGS   ?= -O2 -g -D_FORTIFY_SOURCE=2
LDFLAGS  ?=
WARNINGS := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes
HARDEN   := -fPIE -fstack-protector-strong -fstack-clash-protection

PKG_CFLAGS  = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $$(PKGS) 2>/dev/null))$(PKG_CFLAGS)
PKG_LIBS    = $(eval PKG_LIBS := $$(shell pkg-config --libs $$(PKGS) 2>/dev/null))$(PKG_LIBS)
ARCHIVES    = $(eval ARCHIVES := $$(foreach l,$$(filter -l%,$$(PKG_LIBS)),$$(shell \
	      $$(CC) -print-file-name=lib$$(l:-l%=%).a)))$(ARCHIVES)
CHISOL_LIBS = $(if $(STATIC_LIBS),-Wl$(comma)-Bstatic $(PKG_LIBS) -Wl$(comma)-Bdynamic,$(PKG_LIBS))
ISOLPROBE_LIBS = $(eval ISOLPROBE_LIBS := $$(shell pkg-config --libs jansson libtraceevent 2>/dev/null))$(ISOLPROBE_LIBS)
comma      := ,

BASE_CFLAGS  = -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -DCHISOL_VERSION='"$(VERSION)"' \
	       -DCHISOL_LIB_DIR='"$(preloaddir)"' \
	       -DCHISOL_CONF_DIR='"$(confdir)"' -DCHISOL_SYSCONF_DIR='"$(sysconfdir)/chisol"' \
	       $(PKG_CFLAGS)
BASE_LDFLAGS = -pie -Wl,-z,relro,-z,now
SAN_CFLAGS   = $(BASE_CFLAGS) -O1 -g -fno-omit-frame-pointer $(SANITIZE)
SANITIZE    := -fsanitize=address,undefined -fno-sanitize-recover=undefined

CORE_SRC   := $(wildcard isolcore/*.c)
PROBE_SRC  := $(wildcard probe/*.c)
TICK_SRC   := $(addprefix probe/,tick.c result.c clock.c histogram.c threshold.c gap_ring.c worst.c rseq.c \
	      attach.c) # libisolprobe
PRELOAD_SRC := $(wildcard probe/preload/*.c)
CHISOL_SRC := $(wildcard chisol/*.c)
ISOLPROBE_SRC := $(wildcard probe/cmd/*.c)
LIB_SRC    := $(CORE_SRC) $(PROBE_SRC) $(filter-out %/main.c,$(CHISOL_SRC) $(ISOLPROBE_SRC))
UNIT_SRC   := $(wildcard tests/unit/test_*.c)
FUZZ_SRC   := $(wildcard tests/fuzz/fuzz_*.c)
TOOL_SRC   := $(wildcard tests/tools/*.c tests/trees/*.c) # one program each
ALL_SRC    := $(CORE_SRC) $(PROBE_SRC) $(PRELOAD_SRC) $(CHISOL_SRC) $(ISOLPROBE_SRC) $(wildcard tests/*/*.c)
ALL_HDR    := $(wildcard isolcore/*.h probe/*.h probe/*/*.h chisol/*.h tests/*/*.h)
MAN        := $(wildcard man/*.[1-8])
SCRIPTS    := $(wildcard scripts/* tests/run tests/exam tests/bench/run .ci/run completions/* \
	      $(addprefix tests/guest/,run boot fetch initramfs init apt.bash kernel/build))

CORE_OBJ   := $(CORE_SRC:%.c=$(BUILD)/obj/%.o)
PROBE_OBJ  := $(PROBE_SRC:%.c=$(BUILD)/obj/%.o)
TICK_OBJ   := $(TICK_SRC:%.c=$(BUILD)/obj/%.o)
PRELOAD_OBJ := $(PRELOAD_SRC:%.c=$(BUILD)/obj/%.o)
CHISOL_OBJ := $(CHISOL_SRC:%.c=$(BUILD)/obj/%.o)
ISOLPROBE_OBJ := $(ISOLPROBE_SRC:%.c=$(BUILD)/obj/%.o)
SAN_OBJ    := $(LIB_SRC:%.c=$(BUILD)/san/%.o)
FUZZ_OBJ   := $(LIB_SRC:%.c=$(BUILD)/fuzz/%.o)
UNIT_BIN   := $(UNIT_SRC:%.c=$(BUILD)/san/%)
FUZZ_BIN   := $(FUZZ_SRC:%.c=$(BUILD)/fuzz/%)
TOOL_BIN   := $(TOOL_SRC:%.c=$(BUILD)/%)
TIDY_OK    := $(ALL_SRC:%.c=$(BUILD)/tidy/%.ok)
SWEEP_LIB  := $(BUILD)/tests/sweep/sweep.so

all: $(BUILD)/chisol $(BUILD)/isolprobe $(BUILD)/libisolprobe.a $(BUILD)/libisolprobe.so \
	$(BUILD)/libisolprobe-preload.so ## build everything (the default)

$(BUILD)/libisolcore.a: $(CORE_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libprobe.a: $(PROBE_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/chisol: $(CHISOL_OBJ) $(BUILD)/libprobe.a $(BUILD)/libisolcore.a
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(CHISOL_LIBS) -lm

$(BUILD)/isolprobe: $(ISOLPROBE_OBJ) $(BUILD)/libprobe.a $(BUILD)/libisolcore.a
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(ISOLPROBE_LIBS) -lm -pthread

# One object, in which only what is public is global: a static library has no version script.
$(BUILD)/libisolprobe.a: $(TICK_OBJ)
	$(LD) -r -o $(BUILD)/obj/libisolprobe.o $^
	$(OBJCOPY) --wildcard --keep-global-symbol='isolprobe_*' $(BUILD)/obj/libisolprobe.o
	rm -f $@ && $(AR) rcs $@ $(BUILD)/obj/libisolprobe.o

# Never unloaded: the kernel may hold a pointer into it, see probe/tick.h.
$(BUILD)/libisolprobe.so: $(TICK_OBJ) probe/libisolprobe.map
	$(CC) -shared -Wl,-soname,libisolprobe.so.0 -Wl,--version-script=probe/libisolprobe.map \
		-Wl,-z,relro,-z,now,-z,nodelete,-z,defs $(CFLAGS) $(LDFLAGS) -o $@ $(TICK_OBJ)

# What programs link stands in nobody's way; what chisol preloads stands before functions of libc,
# which must have no version of its own to be found for theirs.
PRELOAD_PARTS := $(PRELOAD_OBJ) $(addprefix $(BUILD)/obj/probe/,attach.o follow.o)
$(BUILD)/libisolprobe-preload.so: $(PRELOAD_PARTS) probe/preload/preload.map
	$(CC) -shared -Wl,--version-script=probe/preload/preload.map -Wl,-z,relro,-z,now,-z,nodelete,-z,defs \
		$(CFLAGS) $(LDFLAGS) -o $@ $(PRELOAD_PARTS) -ldl -pthread

$(TICK_OBJ) $(PRELOAD_PARTS): HARDEN := $(subst -fPIE,-fPIC,$(HARDEN))

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(HARDEN) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/tools/tickcost $(BUILD)/tests/tools/ticker: $(BUILD)/libisolprobe.a

$(BUILD)/tests/%: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -MF $@.d -o $@ $(filter %.c %.a,$^) $(PKG_LIBS)

$(SWEEP_LIB): tests/sweep/sweep.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

# The unit tests and fuzz targets, and the code under them, run under ASan and UBSan.
$(BUILD)/san/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(SAN_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CLANG) $(SAN_CFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(BUILD)/san/lib.a: $(SAN_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/fuzz/lib.a: $(FUZZ_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/san/tests/unit/%: $(BUILD)/san/tests/unit/%.o $(BUILD)/san/lib.a
	$(CC) $(SANITIZE) -o $@ $^ $(PKG_LIBS) -lcmocka -lm

$(BUILD)/fuzz/tests/fuzz/%: $(BUILD)/fuzz/tests/fuzz/%.o $(BUILD)/fuzz/lib.a
	$(CLANG) $(SANITIZE) -fsanitize=fuzzer -o $@ $^ $(PKG_LIBS) -lm

# Everything is built again when a compiler, a flag or a directory has changed.
$(BUILD)/flags: export NOW = $(CC) $(CLANG) $(BASE_CFLAGS) $(HARDEN) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) $(CHISOL_LIBS)
$(BUILD)/flags: FORCE
	@pkg-config --exists --print-errors $(PKGS) || \
		{ echo "chisol needs these libraries: run 'make deps' as root" >&2; exit 1; }
	@mkdir -p $(@D)
	@echo "$$NOW" | cmp -s - $@ || echo "$$NOW" > $@
	@printf '%s\n' $(BASE_CFLAGS) > $(BUILD)/compile_flags.txt

-include $(ALL_SRC:%.c=$(BUILD)/obj/%.d) $(ALL_SRC:%.c=$(BUILD)/san/%.d) $(ALL_SRC:%.c=$(BUILD)/fuzz/%.d)
-include $(TOOL_BIN:=.d) $(TIDY_OK:.ok=.d)

unit: $(UNIT_BIN) ## run the unit tests only
	@set -e; for t in $(UNIT_BIN); do $$t; done

fuzz: $(FUZZ_BIN) ## build the fuzz targets (build/fuzz/tests/fuzz/)

programs: all $(UNIT_BIN) $(FUZZ_BIN) $(TOOL_BIN) $(SWEEP_LIB)

deps: ## install what is missing to build and test (Debian, as root)
	@scripts/deps build check lint demo

demo: ## a real run: oslat on an isolated CPU, the report, the machine unchanged
	@scripts/deps build demo
	@$(MAKE) --no-print-directory -s all
	@scripts/demo

check: deps ## install what is missing and run every test that this machine can run
	@$(MAKE) --no-print-directory -s programs
	@tests/run

guest-programs: all $(TOOL_BIN) $(SWEEP_LIB)

check-guest: ## run the tests on real kernels under QEMU (GUEST=name ...: some of tests/guest/matrix)
	@scripts/deps build check guest
	@$(MAKE) --no-print-directory -s guest-programs
	@tests/guest/run $(GUEST)

guest-shell: ## a shell in the guest GUEST=name
	@scripts/deps build check guest
	@$(MAKE) --no-print-directory -s guest-programs
	@tests/guest/run --shell $(or $(GUEST),$(error name one: GUEST=name; they are in tests/guest/matrix))

bench: ## measure start-up, apply and restore, and large machines against their aims
	@scripts/deps build demo bench
	@$(MAKE) --no-print-directory -s all $(TOOL_BIN)
	@tests/bench/run

lint: lint-format lint-tidy lint-cppcheck lint-man lint-shell ## clang-format, clang-tidy, cppcheck, mandoc, shellcheck

lint-format:
	@$(CLANG_FORMAT) --dry-run -Werror $(ALL_SRC) $(ALL_HDR)

lint-tidy: $(TIDY_OK)

$(BUILD)/tidy/%.ok: %.c $(BUILD)/flags .clang-tidy tests/.clang-tidy
	@mkdir -p $(@D)
	@$(CLANG_TIDY) --quiet -p $(BUILD) $< 2>/dev/null
	@$(CC) $(BASE_CFLAGS) -MM -MP -MT $@ -MF $(@:.ok=.d) $<
	@touch $@

# memleak, resourceLeak: cppcheck does not know the cleanup attribute; LeakSanitizer watches in the
# unit tests. leakReturnValNotUsed: descriptors 0 to 2 are opened to stay. invalidFunctionArg: it
# does not know that an anonymous mmap(2) takes -1. preprocessorErrorDirective: it tries a machine
# that is neither x86_64 nor arm64.
lint-cppcheck:
	@mkdir -p $(BUILD)/cppcheck
	@cppcheck --quiet --error-exitcode=1 --std=c11 --language=c --library=gnu --library=posix \
		--enable=warning,performance --inline-suppr --suppress=missingIncludeSystem \
		--suppress=memleak --suppress=resourceLeak --suppress=leakReturnValNotUsed \
		--suppress=invalidFunctionArg --suppress=preprocessorErrorDirective \
		--cppcheck-build-dir=$(BUILD)/cppcheck -j 2 \
		-D_GNU_SOURCE $(CORE_SRC) $(PROBE_SRC) $(PRELOAD_SRC) $(CHISOL_SRC) $(ISOLPROBE_SRC) $(TOOL_SRC)

lint-man:
	@$(if $(MAN),mandoc -T lint -W warning $(MAN),true)

lint-shell:
	@shellcheck -x $(SCRIPTS)

install: all ## install under DESTDIR and prefix (also bindir, libdir, includedir, mandir, sysconfdir)
	install -d $(DESTDIR)$(sysconfdir)/chisol
	install -D -m 755 -t $(DESTDIR)$(bindir) $(BUILD)/chisol $(BUILD)/isolprobe
	install -D -m 644 -t $(DESTDIR)$(includedir) probe/isolprobe.h
	install -D -m 644 -t $(DESTDIR)$(libdir) $(BUILD)/libisolprobe.a
	install -D -m 755 $(BUILD)/libisolprobe.so $(DESTDIR)$(libdir)/libisolprobe.so.0
	install -D -m 755 -t $(DESTDIR)$(preloaddir) $(BUILD)/libisolprobe-preload.so
	ln -sf libisolprobe.so.0 $(DESTDIR)$(libdir)/libisolprobe.so
	install -D -m 644 -t $(DESTDIR)$(confdir) $(wildcard conf/*.conf)
	$(foreach m,$(MAN),install -D -m 644 -t $(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(m))) $(m) &&) true
	install -D -m 644 -t $(DESTDIR)$(compdir) $(wildcard completions/*)
	install -D -m 644 -t $(DESTDIR)$(docdir) $(DOCS)
	install -d $(DESTDIR)$(pkgconfdir)
	printf '%s\n' 'Name: chisol' 'Description: Launcher for isolated CPUs' 'Version: $(VERSION)' \
		'profiledir=$(confdir)' 'sysprofiledir=$(sysconfdir)/chisol' \
		> $(DESTDIR)$(pkgconfdir)/chisol.pc
	printf '%s\n' 'Name: isolprobe' 'Description: Notices when a loop was interrupted' \
		'Version: $(VERSION)' 'Cflags: -I$(includedir)' 'Libs: -L$(libdir) -lisolprobe' \
		> $(DESTDIR)$(pkgconfdir)/isolprobe.pc

uninstall: ## remove what install put there (profiles in sysconfdir stay)
	rm -f $(foreach p,chisol isolprobe,$(addprefix $(DESTDIR),$(bindir)/$p $(compdir)/$p $(pkgconfdir)/$p.pc))
	rm -f $(addprefix $(DESTDIR),$(includedir)/isolprobe.h $(addprefix $(libdir)/libisolprobe,.a .so .so.0))
	rm -f $(foreach m,$(MAN),$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m)))
	rm -rf $(DESTDIR)$(datadir)/chisol $(DESTDIR)$(docdir) $(DESTDIR)$(preloaddir)
	-rmdir $(DESTDIR)$(sysconfdir)/chisol

DOCS := $(wildcard README.md CHANGELOG.md LICENSE man/*.schema.json isolcore/journal.md)

clean: ## remove build/
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | while IFS='	' read -r name text; do \
		printf '  make %-11s %s\n' "$$name" "$$text"; done
	@echo "Variables: CC CFLAGS LDFLAGS BUILD STATIC_LIBS prefix bindir libdir includedir mandir sysconfdir DESTDIR"

FORCE:
.PHONY: FORCE all unit fuzz programs guest-programs check-guest guest-shell deps demo check bench lint lint-format lint-tidy lint-cppcheck \
	lint-man lint-shell install uninstall clean help
.SECONDARY:
.DELETE_ON_ERROR:
