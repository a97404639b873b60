# A thin front for people; CMakeLists.txt and CMakePresets.json hold the build, scripts/ the rest.
SHELL := /bin/bash
PAGE ?= models/mini/pages/page04.png
C_FILES = $(shell find include src cli server eval helper tests bench tools -name "*.[ch]")

.PHONY: all demo test long bench format lint setup install clean

all: setup                 ## build the program (build/cpu/bin/recto)
	@scripts/build cpu recto

demo: all                  ## read a sample page
	@echo "\$$ build/cpu/bin/recto read $(PAGE)"
	@build/cpu/bin/recto read $(PAGE)

test:                      ## everything that guards a change, in 25 minutes on two cores
	@scripts/test

long:                      ## what takes longer: tests labelled long, ten minutes for each fuzz target
	@scripts/test long

bench: setup               ## measure the kernels and whole pages of the mini model
	@scripts/bench

format:                    ## put our C files into shape
	@scripts/setup test
	@clang-format-14 -i $(C_FILES)

lint:                      ## complain about shape and about what clang-tidy finds
	@scripts/setup test
	@scripts/lint

setup:
	@scripts/setup

install: all               ## PREFIX=/usr/local
	@cmake --install build/cpu --prefix $(or $(PREFIX),/usr/local)

clean:
	@rm -rf build
