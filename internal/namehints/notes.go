// SPDX-License-Identifier: Apache-2.0

package namehints

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Row is a function in a table or stack.
type Row struct {
	Name, Module string // a base name, or in brackets
	Nameless     bool   // Name is a place in code
	Large        bool   // its share is worth a note
}

// Program is the functions' process.
type Program struct {
	Files    []string // mapped files (paths)
	Mappings []string // names of all mappings, those in brackets too
	PID      int      // 0: several processes, or unknown
	Ended    bool     // a core's: no remedies for a live process
	Again    string   // the action that displays names then, such as "record again"
	OneRow   bool     // a file's unnamed functions are one row
}

const freedNote = "[freed]: functions whose code was freed before prywalk read their names: the program unloads code " +
	"soon after it has run, or prywalk got no processor in time."

// Notes explain unnamed functions and how to get names, each way once.
func (p *Program) Notes(rows []Row) (notes []string) {
	hint, known := Of(p.Files)
	interpreted, gone := false, false
	printed := slices.ContainsFunc(rows, func(r Row) bool { return MadeAtRunTime(r.Module) && !r.Nameless }) // a perf map
	var made, libraries, bounded []string
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Nameless && (r.Module == "" || MadeAtRunTime(r.Module) || strings.HasPrefix(r.Module, "[heap")):
			if name := Bracketed(r.Module); r.Large && !slices.Contains(made, name) {
				made = append(made, name)
			}
		case r.Nameless && !strings.HasPrefix(r.Module, "[") && r.Large && !slices.Contains(libraries, r.Module):
			libraries = append(libraries, r.Module)
			if Bounded(r.Name, r.Module) {
				bounded = append(bounded, r.Module)
			}
		case r.Name == "[freed]":
			gone = gone || r.Large
		case hint.Interprets(r.Name):
			interpreted = interpreted || r.Large
		}
	}
	switch {
	case hint.Named(p.Mappings):
	case len(made) > 0 && printed:
		notes = append(notes, strings.Join(made, ", ")+
			": code generated at run time that the program's perf map does not name.")
	case len(made) > 0:
		notes = append(notes, fmt.Sprintf("%s: %s, without symbols.%s", strings.Join(made, ", "), hint.Code, p.remedy(&hint)))
	case interpreted && known && !printed:
		notes = append(notes, fmt.Sprintf("%s: %s, without names here.%s", hint.Runtime, hint.Code, p.remedy(&hint)))
	}
	if gone {
		notes = append(notes, freedNote)
	}
	return append(notes, p.ofLibraries(libraries, bounded)...)
}

// remedy follows a space; "" if there is none.
func (p *Program) remedy(h *Hint) string {
	if h.Live && p.Ended {
		return ""
	}
	return " To get names: " + h.Remedy(p.PID, p.Again) + "."
}

// ofLibraries explains files, each way once. The functions of bounded are displayed by address.
func (p *Program) ofLibraries(libraries, bounded []string) (notes []string) {
	var remedies []string
	of := map[string][]string{}
	for _, l := range libraries {
		file := l
		if at := slices.IndexFunc(p.Files, func(f string) bool { return path.Base(f) == l }); at >= 0 {
			file = p.Files[at]
		}
		remedy := LibraryRemedy(file, p.Again)
		if of[remedy] == nil {
			remedies = append(remedies, remedy)
		}
		of[remedy] = append(of[remedy], l)
	}
	for _, r := range remedies {
		byAddress := !slices.ContainsFunc(of[r], func(l string) bool { return !slices.Contains(bounded, l) })
		if byAddress {
			notes = append(notes, fmt.Sprintf("%s+0x…: functions without symbols, shown by address in the file. "+
				"To get names: %s.", strings.Join(of[r], "+0x…, "), r))
			continue
		}
		what := ": functions without symbols"
		if p.OneRow {
			what = " (unnamed): all functions of " +
				map[bool]string{true: "that file", false: "each file"}[len(of[r]) == 1] + " without symbols, as one row"
		}
		notes = append(notes, fmt.Sprintf("%s%s. To get names: %s.", "["+strings.Join(of[r], "], [")+"]", what, r))
	}
	return notes
}
