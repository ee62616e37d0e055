// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/languages"
)

// Span is an address range; End is excluded.
type Span struct{ Start, End uint64 }

// Has reports whether an address is in the span.
func (s Span) Has(addr uint64) bool { return addr >= s.Start && addr < s.End }

// Unowned returns the modules of generated code without an owner.
func Unowned(h Host) (made []*frames.Module) {
	for _, m := range h.Modules() {
		if m.Generated && m.Owner == nil {
			made = append(made, m)
		}
	}
	return made
}

// AddSource puts s before m's other sources, once.
func AddSource(m *frames.Module, s frames.RuleSource) {
	if !slices.Contains(m.Sources, s) {
		m.Sources = append([]frames.RuleSource{s}, m.Sources...)
	}
}

// ModuleAgain returns a runtime's earlier module as it is mapped now, or nil.
func ModuleAgain(h Host, earlier *frames.Module) *frames.Module {
	for _, m := range h.Modules() {
		if SameModule(m, earlier) {
			return m
		}
	}
	return nil
}

// SameModule reports whether m, which may be nil, is the earlier module.
func SameModule(m, earlier *frames.Module) bool {
	return m != nil && (m == earlier || m.Bias == earlier.Bias && m.Name == earlier.Name)
}

// FirstOf is a [Detector]'s search: the first runtime that try finds in a module, past those that have not begun or are
// not read, as a process can have several libraries of a language and use one. language is for the error. It stays
// [ErrNotYet] while one has not begun.
func FirstOf[R Runtime](h Host, language string, try func(m *frames.Module) (r R, found bool, err error)) (
	Runtime, error,
) {
	var unread error
	waits := false
	for _, m := range h.Modules() {
		switch r, found, err := try(m); {
		case errors.Is(err, ErrNotYet):
			waits = true
		case err != nil && unread == nil:
			unread = fmt.Errorf("the functions of %s in %s have no names: %w", language, path.Base(m.Name), err)
		case err == nil && found:
			return r, nil
		}
	}
	switch {
	case waits && unread != nil:
		return nil, unreadYet{unread}
	case waits:
		return nil, ErrNotYet
	}
	return nil, unread
}

// unreadYet is the reason why a runtime is not read, and [ErrNotYet] of another.
type unreadYet struct{ error }

// Is makes it an [ErrNotYet], too.
func (unreadYet) Is(target error) bool { return target == ErrNotYet }

// Release is a language's release: 100·major + minor, 304 is 3.4.
type Release int

// ReleaseOf returns the release of a major and a minor number below 100.
func ReleaseOf(major, minor int) Release { return Release(100*major + minor) }

// String returns "3.4".
func (r Release) String() string { return fmt.Sprintf("%d.%d", int(r)/100, int(r)%100) }

// Kind returns the kind of frames of a [Runtime.Name]: "cpython" for "CPython 3.12.1".
func Kind(name string) string {
	if l := languages.OfSystem(name); l != nil && l.Kind != "" {
		return l.Kind
	}
	word, _, _ := strings.Cut(name, " ")
	return strings.ToLower(word)
}
