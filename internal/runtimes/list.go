// SPDX-License-Identifier: Apache-2.0

// Package runtimes lists the run-time systems that prywalk knows, a folder each.
package runtimes

import (
	"slices"

	"prywalk/internal/elffile"
	"prywalk/internal/managed"
	"prywalk/internal/runtimes/cpython"
	"prywalk/internal/runtimes/gdbjit"
	"prywalk/internal/runtimes/golang"
	"prywalk/internal/runtimes/hosted"
	"prywalk/internal/runtimes/hotspot"
	"prywalk/internal/runtimes/php"
	"prywalk/internal/runtimes/ruby"
	"prywalk/internal/runtimes/v8"
)

// List has the detectors in the order in which they are asked: those of known code before those that take generated
// code of unknown origin. A process has at most one of each, but for those with [managed.Runtime.Module]. It must not
// change once a process is open.
var List = []managed.Detector{
	hotspot.Detect, cpython.Detect, php.Detect, ruby.Detect, v8.Detect,
	gdbjit.Detect, hosted.Detect, hosted.DetectHaskell, golang.Detect,
}

// Symbols are the names that detectors ask of each module.
var Symbols = slices.Concat(ruby.Symbols, v8.Symbols, gdbjit.Symbols, hosted.Symbols)

// Tables has the languages whose compilers put tables of functions into ELF files; a file has at most one.
var Tables = []managed.TableReader{golang.Files{}}

// TableOf reads the table of functions of an ELF file; nil for none.
func TableOf(f *elffile.File) managed.FileTable {
	for _, r := range Tables {
		if t := r.Read(f); t != nil {
			return t
		}
	}
	return nil
}

// Builtins has the run-time systems with code in ELF files that follows a convention of its own. A file's part is read
// on first use.
var Builtins = []func(f *elffile.File, symbols managed.FileSymbols) managed.Builtins{v8.BuiltinsOf}

// PerfMapPositions parse the names that JIT compilers write into perf maps: file and line (from 1); false for a name in
// another form.
var PerfMapPositions = []func(name string) (file string, line int, ok bool){v8.PerfMapPosition}

// PerfMapPosition gives the position in a name of a perf map; "" and 0 if it has none.
func PerfMapPosition(name string) (file string, line int) {
	for _, parse := range PerfMapPositions {
		if file, line, ok := parse(name); ok {
			return file, line
		}
	}
	return "", 0
}
