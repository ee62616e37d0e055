// SPDX-License-Identifier: Apache-2.0

// Package runtimes lists the runtimes that prywalk knows, a folder each.
package runtimes

import (
	"slices"

	"prywalk/internal/code/elffile"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/runtimes/cpython"
	"prywalk/internal/walk/runtimes/fixedframe"
	"prywalk/internal/walk/runtimes/golang"
	"prywalk/internal/walk/runtimes/hotspot"
	"prywalk/internal/walk/runtimes/php"
	"prywalk/internal/walk/runtimes/ruby"
	"prywalk/internal/walk/runtimes/threadcontext"
	"prywalk/internal/walk/runtimes/v8"
	"prywalk/internal/walk/runtimes/valgrind"
)

// Registration is all that one kind of runtime registers.
type Registration struct {
	Detect managed.Detector
	// Symbols are the names that Detect asks of each module; any other name costs a search of the whole table.
	Symbols []string
	// Table reads the language's table of functions in an ELF file, nil if HasTable is false. Without tables both are nil.
	Table    func(f *elffile.File) managed.FileTable
	HasTable func(f *elffile.File) bool
	// Builtins returns the runtime's code in an ELF file, or is nil.
	Builtins BuiltinsOf
}

// BuiltinsOf returns a file's [managed.Builtins], whose parts are read on first use.
type BuiltinsOf = func(f *elffile.File, symbols managed.FileSymbols) managed.Builtins

// Registered are the runtimes in the order of detection: known code before generated code of unknown origin.
var Registered = []Registration{
	{Detect: valgrind.Detect}, // it owns what the program has generated, too
	{Detect: hotspot.Detect},
	{Detect: cpython.Detect},
	{Detect: php.Detect},
	{Detect: ruby.Detect, Symbols: ruby.Symbols},
	{Detect: v8.Detect, Symbols: v8.Symbols, Builtins: v8.BuiltinsOf},
	{Detect: fixedframe.Detect, Symbols: fixedframe.Symbols},
	{Detect: threadcontext.Detect, Symbols: threadcontext.Symbols},
	{Detect: golang.Detect, Table: golang.TableOf, HasTable: golang.HasTable},
}

// Fields of [Registered].
var (
	// Detectors must not change once a process is open. A process has at most one runtime of each, except those with
	// [managed.Runtime.Module].
	Detectors []managed.Detector
	// Symbols has the names that detectors ask of each module.
	Symbols []string
)

func init() {
	for _, k := range Registered {
		Detectors, Symbols = append(Detectors, k.Detect), append(Symbols, k.Symbols...)
	}
}

// TableOf reads the table of functions of an ELF file, or returns nil.
func TableOf(f *elffile.File) managed.FileTable {
	for _, k := range Registered {
		if k.Table == nil {
			continue
		}
		if t := k.Table(f); t != nil {
			return t
		}
	}
	return nil
}

// HasTable reports whether an ELF file has a table of functions.
func HasTable(f *elffile.File) bool {
	return slices.ContainsFunc(Registered, func(k Registration) bool { return k.HasTable != nil && k.HasTable(f) })
}
