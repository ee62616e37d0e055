// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"regexp"
	"strings"

	"prywalk/internal/base/incomplete"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/code/unnamedcode"
)

// Frame is an entry of a stack. Equal frames (==) are one row, with one number ([FrameTable.FrameIndex]).
type Frame struct {
	Name   string
	Module string // the file's base name, for managed code the package; "" if synthetic or unknown
	File   string // with --lines, or for names that many files have
	Line   int    // with --lines

	// Script marks named functions of scripts and functions compiled at run time, as native libraries may share the name.
	Script bool
	// Nameless marks code without a function; Name is then its place.
	Nameless bool
	// Library marks code of the language's or the system's libraries, Installed that of installed packages.
	Library, Installed bool
	LibC               bool // of glibc or musl
}

// Synthetic reports an entry in brackets that is no code.
func (f *Frame) Synthetic() bool {
	return f.Module == "" && strings.HasPrefix(f.Name, "[")
}

func (f *Frame) incomplete() bool {
	_, ok := incomplete.Reason(f.Name)
	return ok && f.Module == ""
}

func (f *Frame) guessed() bool { return f.Name == incomplete.Guessed && f.Module == "" }

// KernelModule is the module of the kernel's functions.
const KernelModule = "[kernel]"

// IsSupport reports an entry that is not the program's.
func (f *Frame) IsSupport() bool { return f.supportRank() == 1 }

func (f *Frame) supportRank() int {
	if f.Synthetic() || f.Module == KernelModule || f.Library {
		return 1
	}
	return 0
}

// ownRank orders frames by how much they are the program's own: 5 functions of scripts, 4 others, 3 those of installed
// packages and of files named lib*.so*, 2 main of C, 1 code without functions, 0 all else.
func (f *Frame) ownRank() int {
	switch {
	case f.IsSupport():
		return 0
	case !f.isFunction():
		return 1
	case f.Name == "main" && !f.Script:
		return 2
	case f.Installed, strings.HasPrefix(f.Module, "lib") && strings.Contains(f.Module, ".so"): // no plug-ins: mod_php.so
		return ownInstalled
	case !f.Script, f.IsBuiltIn():
		return 4
	}
	return ownScript
}

const ownInstalled, ownScript = 3, 5

// IsOwn reports a function of the program itself, in a managed language.
func (f *Frame) IsOwn() bool { return f.ownRank() == ownScript }

// IsBuiltIn reports a function of the runtime itself: it has neither a package nor a source file.
func (f *Frame) IsBuiltIn() bool { return f.Script && strings.HasPrefix(f.Module, "[") }

// OwnFrame returns the index and the rank of a stack's innermost frame of those that are most the program's own.
func (t *FrameTable) OwnFrame(stack []int32) (index, rank int) {
	for i, n := range stack {
		if r := t.Frames[n].ownRank(); r > rank {
			index, rank = i, r
		}
	}
	return index, rank
}

// Label is the name with file and line if set.
func (f *Frame) Label() string { return f.label(func(s string) string { return s }) }

func (f *Frame) label(shorten func(string) string) string {
	name := shorten(f.Name)
	switch {
	case f.File == "":
		return name
	case f.Line == 0:
		return name + " (" + shorten(languages.SourceFile(f.File)) + ")"
	}
	return fmt.Sprintf("%s %s:%d", name, shorten(languages.SourceFile(f.File)), f.Line)
}

// DisplayName is the label in tables and trees: the same for all nameless functions of a file. Long names lose their
// middle.
func (f *Frame) DisplayName() string {
	if f.Nameless && f.Module != "" && !unnamedcode.IsAddressName(f.Name, f.Module) && !strings.HasPrefix(f.Module, "[") {
		return f.label(shownName) + " (unnamed)"
	}
	return f.label(shownName)
}

const longestName = 1 << 12

func shownName(name string) string {
	name = languages.ShownName(name)
	if len(name) <= longestName {
		return name
	}
	head, tail := name[:longestName/2], name[len(name)-longestName/2:]
	return strings.ToValidUTF8(head, "") + "…" + strings.ToValidUTF8(tail, "")
}

// FitName is the label with its name shortened to a width.
func (f *Frame) FitName(width int) string {
	name := printable.String(shownName(f.Name))
	place := printable.String(strings.TrimPrefix(f.DisplayName(), shownName(f.Name)))
	if room := width - tabular.PrintedWidth(place); room >= tabular.MinNameColumn {
		return tabular.Shorten(name, room) + place
	}
	return tabular.Shorten(name+place, width)
}

var commonNames = regexp.MustCompile(`^(?:<[a-z ()]+>|\(anonymous\)|anonymous|\{(?:closure|main)\}|` +
	`_?inner|outer|_?wrapper|_?wrapped|decorator)$`)

// setModule sets a managed function's module to its installed package or source file, and the file of a common name.
func (f *Frame) setModule(file, source string) {
	l := languages.OfMapping(file)
	if l == nil || l.Package == nil || strings.HasPrefix(f.Name, "[") {
		return
	}
	if module := l.Package(f.Name, source); module != "" {
		f.Module = module
	}
	if commonNames.MatchString(f.Name) {
		f.File = source
	}
}
