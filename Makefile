# chisol: `make help` lists what there is.
# Everything that is built goes to build/.

VERSION := 0.1.0
PREFIX  ?= /usr/local
prefix  ?= $(PREFIX)
BUILD   ?= build

CC       ?= gcc
CLANG    ?= clang
PKGS     := libcap-ng libcgroup inih jansson
WARNINGS := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes
CFLAGS   ?= -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong
ALL_CFLAGS   = -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -MMD -MP \
	       -DCHISOL_VERSION='"$(VERSION)"' -DCHISOL_CONF_DIR='"$(prefix)/share/chisol/conf"' \
	       $(shell pkg-config --cflags $(PKGS)) $(CFLAGS)
LDLIBS   = $(shell pkg-config --libs $(PKGS))
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g

CORE_SRC   := $(wildcard isolcore/*.c)
CHISOL_SRC := $(wildcard chisol/*.c)
UNIT_SRC   := $(wildcard tests/unit/test_*.c)
FUZZ_SRC   := $(wildcard tests/fuzz/fuzz_*.c)

CORE_OBJ   := $(CORE_SRC:%.c=$(BUILD)/obj/%.o)
CHISOL_OBJ := $(CHISOL_SRC:%.c=$(BUILD)/obj/%.o)
SAN_OBJ    := $(CORE_SRC:%.c=$(BUILD)/san/%.o) \
	      $(patsubst %.c,$(BUILD)/san/%.o,$(filter-out chisol/main.c,$(CHISOL_SRC)))
UNIT_BIN   := $(UNIT_SRC:%.c=$(BUILD)/san/%)
FUZZ_BIN   := $(FUZZ_SRC:%.c=$(BUILD)/fuzz/%)

all: $(BUILD)/chisol

$(BUILD)/libisolcore.a: $(CORE_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/chisol: $(CHISOL_OBJ) $(BUILD)/libisolcore.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/san/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -D_FORTIFY_SOURCE=2,$(ALL_CFLAGS)) $(SANITIZE) -c -o $@ $<

$(BUILD)/san/tests/unit/%: $(BUILD)/san/tests/unit/%.o $(SAN_OBJ)
	$(CC) $(SANITIZE) -o $@ $^ $(LDLIBS) -lcmocka

$(BUILD)/fuzz/tests/fuzz/%: tests/fuzz/%.c $(CORE_SRC)
	@mkdir -p $(@D)
	$(CLANG) $(filter-out -MMD -MP -D_FORTIFY_SOURCE=2,$(ALL_CFLAGS)) -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -o $@ $^ $(LDLIBS)

unit: $(UNIT_BIN)
	@set -e; for t in $(UNIT_BIN); do $$t; done

fuzz: $(FUZZ_BIN)

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: all unit fuzz clean
.SECONDARY:
