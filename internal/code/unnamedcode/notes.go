// SPDX-License-Identifier: Apache-2.0

package unnamedcode

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"prywalk/internal/base/languages"
)

// Row is a function in a table or stack.
type Row struct {
	Name, Module string // a base name, or in brackets
	Nameless     bool   // Name is a place in code
	Large        bool   // its share is worth a note
}

// Program is the functions' process.
type Program struct {
	Files    []string // paths
	Missing  []string // of Files: not there, or not readable
	Mappings []string // of all mappings, those in brackets too
	PID      int      // 0 means several processes, or unknown
	Ended    bool     // a core's: no remedies for a live process
	Again    string   // such as "record again"
	OneRow   bool     // unnamed functions of a file
}

const freedNote = "[function gone before its name was read]: functions whose names prywalk could not prove. Usual " +
	"causes are a program that frees code soon after it has run, and no CPU for prywalk in time. If neither is so, it " +
	"is an error in prywalk: please report it."

const movedNote = "[function moved before its name was read]: functions that the program's garbage collector moved " +
	"before prywalk read their names: rarer if prywalk has a spare CPU."

// Notes explain unnamed functions, each remedy once.
func (p *Program) Notes(rows []Row) (notes []string) {
	hint, known := ForFiles(p.Files)
	u := unnamedOf(rows, &hint)
	switch made := strings.Join(u.made, ", "); {
	case hint.HasNames(p.Mappings):
	case made != "" && u.perfMap && p.Ended: // nothing helps
	case made != "" && u.perfMap:
		notes = append(notes, made+": code generated at run time that the program's perf map does not name. If it was "+
			"written once, as by jcmd, write it again, and "+p.Again+".")
	case made != "":
		notes = append(notes, fmt.Sprintf("%s: %s, without symbols.%s", made, hint.Code, p.remedy(&hint)))
	case u.interpreted && known && !u.perfMap:
		notes = append(notes, fmt.Sprintf("%s: %s, without names here.%s", hint.Runtime, hint.Code, p.remedy(&hint)))
	}
	if u.freed {
		notes = append(notes, freedNote)
	}
	if u.moved {
		notes = append(notes, movedNote)
	}
	return append(notes, p.ofLibraries(u.libraries, u.byAddress)...)
}

// unnamed describes large rows without names.
type unnamed struct {
	made        []string // in brackets
	libraries   []string
	byAddress   []string // of libraries, shown by address
	freed       bool     // code was freed before its names were read
	moved       bool
	interpreted bool // an interpreter's function is large
	perfMap     bool // some code made at run time has names
}

func unnamedOf(rows []Row, hint *Hint) (u unnamed) {
	for i := range rows {
		r := &rows[i]
		u.perfMap = u.perfMap || MadeAtRunTime(r.Module) && !r.Nameless
		switch {
		case r.Nameless && (r.Module == "" || MadeAtRunTime(r.Module) || strings.HasPrefix(r.Module, "[heap")):
			if name := Bracketed(r.Module); r.Large && !slices.Contains(u.made, name) {
				u.made = append(u.made, name)
			}
		case r.Nameless && !strings.HasPrefix(r.Module, "[") && r.Large && !slices.Contains(u.libraries, r.Module):
			u.libraries = append(u.libraries, r.Module)
			if IsAddressName(r.Name, r.Module) {
				u.byAddress = append(u.byAddress, r.Module)
			}
		case r.Name == languages.FreedFunction:
			u.freed = u.freed || r.Large
		case r.Name == languages.MovedFunction:
			u.moved = u.moved || r.Large
		case hint.interprets(r.Name):
			u.interpreted = u.interpreted || r.Large
		}
	}
	return u
}

// remedy begins with a space; "" if there is none.
func (p *Program) remedy(h *Hint) string {
	if h.Live && p.Ended {
		return ""
	}
	return " To get names: " + h.Remedy(p.PID, p.Again) + "."
}

// missingRemedy is for files whose debug symbols are no help, as they have to fit the file.
func (p *Program) missingRemedy() string {
	if p.Ended {
		return "its file is not here, or is not the one that ran: copy it from where the program ran to DIR, with its " +
			"path, and give --sysroot DIR"
	}
	return "its file is gone or cannot be read: put it back, or restart the program, and " + p.Again
}

// The functions of byAddress are shown by address.
func (p *Program) ofLibraries(libraries, byAddress []string) (notes []string) {
	var remedies []string
	of := map[string][]string{}
	for _, l := range libraries {
		file := l
		if at := slices.IndexFunc(p.Files, func(f string) bool { return path.Base(f) == l }); at >= 0 {
			file = p.Files[at]
		}
		remedy := strings.ReplaceAll(libraryRemedy(file), "AGAIN", p.Again)
		if slices.Contains(p.Missing, file) {
			remedy = p.missingRemedy()
		}
		if of[remedy] == nil {
			remedies = append(remedies, remedy)
		}
		of[remedy] = append(of[remedy], l)
	}
	for _, r := range remedies {
		allByAddress := !slices.ContainsFunc(of[r], func(l string) bool { return !slices.Contains(byAddress, l) })
		if allByAddress {
			notes = append(notes, fmt.Sprintf("%s+0x…: functions without symbols, shown by address in the file. "+
				"To get names: %s.", strings.Join(of[r], "+0x…, "), r))
			continue
		}
		what := ": functions without symbols"
		switch {
		case p.OneRow && len(of[r]) == 1:
			what = " (unnamed): all functions of that file without symbols, as one row"
		case p.OneRow:
			what = " (unnamed): all functions of each file without symbols, as one row"
		}
		notes = append(notes, fmt.Sprintf("%s%s. To get names: %s.", "["+strings.Join(of[r], "], [")+"]", what, r))
	}
	return notes
}

// Bracketed names all unnamed functions of a module, a path or a name in brackets.
func Bracketed(module string) string {
	switch {
	case module == "":
		return "[unknown]"
	case strings.HasPrefix(module, "["):
		return module
	}
	return "[" + path.Base(module) + "]"
}

// IsPlaceholder reports a name that stands for a function without a proven one, whatever its module. Other names in
// brackets are functions', as Ruby's [] and those of JavaScript's symbols.
func IsPlaceholder(name string) bool {
	return name == languages.FreedFunction || name == languages.MovedFunction || name == Bracketed("") ||
		MadeAtRunTime(name)
}

// MadeAtRunTime reports whether a module's code is in anonymous memory, which may have a name (V8, YJIT; Linux,
// Documentation/filesystems/proc.rst), or in a memfd (Erlang, .NET).
func MadeAtRunTime(module string) bool {
	return module == "[anon]" || strings.HasPrefix(module, "[anon:") || strings.HasPrefix(module, "[anon_shmem:") ||
		strings.HasPrefix(module, "[memfd:")
}
