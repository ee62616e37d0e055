// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"strconv"

	"prywalk/internal/base/languages"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/walk/waits"
)

// OwnPlace returns the program's function in which a thread waits, with line; "": unknown.
func (t *Thread) OwnPlace() string {
	if f := innermostOwn(t); f != nil {
		return f.Location()
	}
	return ""
}

// OwnFunction returns the program's innermost function, else the stack's; "": unknown.
func (t *Thread) OwnFunction() string {
	if f := innermostOwn(t); f != nil {
		return f.Function
	}
	if len(t.Frames) == 0 {
		return ""
	}
	return t.Frames[waits.WaitingFunction(t.WaitsFrames())].Function
}

func innermostOwn(t *Thread) *Frame {
	if i := waits.ApplicationFunction(t.WaitsFrames()); i >= 0 {
		return &t.Frames[i]
	}
	return ownManaged(t)
}

// Location returns "function at file:line", as far as known.
func (p *Place) Location() string { return p.Function + p.AtLine() }

// AtLine returns " at file:line", as far as known.
func (p *Place) AtLine() string {
	switch {
	case p.File == "":
		return ""
	case p.Line <= 0:
		return " at " + languages.SourceFile(p.File)
	}
	return " at " + languages.SourceFile(p.File) + ":" + strconv.Itoa(p.Line)
}

func ownManaged(t *Thread) *Frame {
	if t.WaitsFor == nil || !t.WaitsFor.IsManaged() {
		return nil
	}
	for i := range t.Frames {
		f := &t.Frames[i]
		if f.Kind != "" && f.Type != "native" && f.Type != "stub" && !unnamedcode.IsPlaceholder(f.Function) {
			return f
		}
	}
	return nil
}

// OwnPlace returns the program's function in which a goroutine waits, with line.
func (g *Goroutine) OwnPlace() string { return g.Stack().OwnPlace() }
