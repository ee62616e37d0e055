// SPDX-License-Identifier: Apache-2.0

package target

import (
	"slices"

	"prywalk/internal/code/loadedcode"
)

// Program is the program of an untracked process. After [Program.Freeze] another goroutine may read it.
type Program struct {
	// CodeOwner is the tracked process whose code it runs since the fork; nil: it has called exec.
	CodeOwner *Process
	Name      string
	Maps      []loadedcode.MapsLine // of code

	frozen bool
}

// Freeze makes the program immutable; changes make a copy.
func (p *Program) Freeze() { p.frozen = true }

// Unshared returns the program, or a copy if it is frozen.
func (p *Program) Unshared() *Program {
	if !p.frozen {
		return p
	}
	return &Program{CodeOwner: p.CodeOwner, Name: p.Name, Maps: slices.Clone(p.Maps)}
}
