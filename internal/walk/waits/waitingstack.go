// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"path"
	"regexp"
	"slices"

	"prywalk/internal/base/languages"
)

type waitingStack struct {
	// inner forward the wait, innermost first.
	inner []Frame
	// outer begins with the waiting function, and omits starts of threads and functions of the system's files.
	outer []Frame
	// managed: the stack has managed code. Native functions of outer are inward of it.
	managed bool
	// main: the stack is the first thread's.
	main bool
	// waitsInMain: the waiting function is main of a stripped program.
	waitsInMain bool
}

const maxOuter = 64

// splitStack splits a stack, innermost function first. In one with managed code, native functions outside of the
// innermost managed one run managed code, and are omitted.
func splitStack(stack []Frame) (s waitingStack) {
	all := userFrames(stack)
	first := slices.IndexFunc(all, isManaged)
	s.managed = first >= 0
	outermost := first
	for i := range all {
		if isManaged(all[i]) {
			outermost = i
		}
	}
	for i := range all {
		f := &all[i]
		switch {
		case s.managed && !isManaged(*f) && i > first: // it runs managed code
		case len(s.outer) == 0 && (s.managed && i < first && isMachinery(f) || forwards(f) && !s.isWaitingFunction(f)):
			s.inner = append(s.inner, *f)
		case startsThread(f):
		case len(s.outer) < maxOuter:
			stripped := isStrippedMain(all[i:])
			s.waitsInMain = s.waitsInMain || stripped && len(s.outer) == 0
			if !s.managed && (isMain(f) || stripped) || s.managed && i == outermost && isManagedMain(f) {
				s.main = true
			}
			s.outer = append(s.outer, *f)
		}
	}
	return s
}

// isStrippedMain reports whether stack begins with main of a program without symbols.
func isStrippedMain(stack []Frame) bool {
	return stack[0].Function == "" && len(stack) > 1 && mainCallers.MatchString(stack[1].Function)
}

func userFrames(stack []Frame) (all []Frame) {
	for _, f := range stack[:min(len(stack), 8*maxOuter)] {
		if f.Module != "[kernel]" {
			f.Module = path.Base(f.Module)
			all = append(all, f)
		}
	}
	return all
}

func (s *waitingStack) isWaitingFunction(f *Frame) bool {
	l, n := f.language(), len(s.inner)
	return l != nil && l.Waits.Again != nil && n > 0 && l.Waits.Again(f.Function, f.File, s.inner[n-1].Function)
}

func (f *Frame) language() *languages.Language {
	if l := languages.OfMapping(f.Module); l != nil && !l.Native {
		return l
	}
	return nil
}

func isManaged(f Frame) bool {
	l := f.language()
	return l != nil && (l.Stub == nil || !l.Stub(f.Function))
}

// isMachinery reports whether a native function can be between a wait and managed code.
func isMachinery(f *Frame) bool {
	return f.Module == "." || forwards(f) ||
		languages.Matches(f.Module, func(l *languages.Language) *regexp.Regexp { return l.System.Files })
}

func forwards(f *Frame) bool {
	if l := f.language(); l != nil && l.Waits.Forwards != nil {
		return l.Waits.Forwards(f.Function, f.File)
	}
	return systemFiles.MatchString(f.Module) || libs.Forwards.MatchString(f.Function) ||
		languages.Matches(f.Function, func(l *languages.Language) *regexp.Regexp { return l.System.NativeForwards })
}

func startsThread(f *Frame) bool {
	if l := f.language(); l != nil && l.Waits.Starts != nil && l.Waits.Starts(f.Function, f.File) {
		return true
	}
	return systemFiles.MatchString(f.Module)
}

func isMain(f *Frame) bool { return f.Function == "main" }

func isManagedMain(f *Frame) bool {
	l := f.language()
	return languages.LastComponent(f.Function) == "main" || l != nil && l.Waits.Main != nil &&
		l.Waits.Main(f.Function, f.File)
}
