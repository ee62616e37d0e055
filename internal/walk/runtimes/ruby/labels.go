// SPDX-License-Identifier: Apache-2.0

package ruby

import "strconv"

// # Labels
//
// Up to 3.3 a backtrace has the iseq's label, "block in run"; from 3.4 on also the method's class, "block in
// Server#run" (vm_backtrace.c, calculate_iseq_label): that of the frame's method entry, as an iseq can be of several
// classes.

const (
	iseqTop = iota
	iseqMethod
	iseqBlock
	iseqClass
	iseqRescue
	iseqEnsure
	iseqEval
	iseqMain
	iseqPlain
)

type label struct {
	levels int
	owner  string
	name   string
	owned  bool // by the frame's class
	// handler is set for a rescue or ensure clause, whose frame is shown with the one around it.
	handler bool
}

func (l *label) with(owner string) string {
	if !l.owned {
		owner = l.owner
	}
	name := owner + l.name
	switch {
	case l.levels == 1:
		return "block in " + name
	case l.levels > 1:
		return "block (" + strconv.Itoa(l.levels) + " levels) in " + name
	}
	return name
}

const maxLevels = 64

// readLabel fails for an iseq within levels others or more.
func (h heap) readLabel(body uint64, levels int) (l label, ok bool) {
	if levels == 0 {
		return l, false
	}
	if !h.qualified {
		l.name, ok = h.text(h.word(body + bodyLabel))
		return l, ok
	}
	kind := h.word(body) & (1<<32 - 1)
	parent := uint64(0)
	switch kind {
	case iseqBlock, iseqPlain, iseqRescue, iseqEnsure, iseqEval:
		parent = h.word(body + uint64(h.bodyLocal) - 8)
	}
	if parent != 0 {
		l, ok = h.readLabel(h.word(parent+iseqBody), levels-1)
	} else {
		l.name, ok = h.text(h.word(body + bodyLabel))
		l.owned = kind == iseqMethod
	}
	if kind == iseqBlock || kind == iseqPlain {
		l.levels++
	}
	l.handler = kind == iseqRescue || kind == iseqEnsure
	return l, ok
}

const (
	typeClass  = 2
	typeModule = 3
)

// ownerOf returns "Server#", "Server.", or "" for an unnamed class.
func (h heap) ownerOf(entry uint64) string {
	if h.class.path == 0 {
		return ""
	}
	class, mark := h.word(entry+methodOwner), "#"
	flags := h.word(class)
	if flags&typeMask == typeClass && flags&h.class.singleton != 0 {
		class, mark = h.word(class+uint64(h.class.attached)), "."
		flags = h.word(class)
	}
	if t := flags & typeMask; t != typeClass && t != typeModule {
		return ""
	}
	name, ok := h.text(h.word(class + uint64(h.class.path)))
	if !ok || name == "" || name[0] == '#' || name[0] >= 'a' && name[0] <= 'z' {
		return "" // no constant's name
	}
	return name + mark
}

const maxEnvs = 32

const flagLocal = 2

// entryOf returns a frame's method entry, or 0 (vm_insnhelper.c, rb_vm_frame_method_entry).
func (c *objectCache) entryOf(f *frame) uint64 {
	w := c.walk
	env, flags := f.ep, f.flags
	for range maxEnvs {
		entry := w.view.Value(env - 16)
		switch head := w.view.Value(entry); {
		case head == 0 && c.has(entry):
			return entry
		case entry&7 != 0:
		case isImemo(head, imemoMethod):
			return entry
		case isImemo(head, imemoVar) && flags&flagLocal != 0:
			if entry = w.view.Value(entry + 8); isImemo(w.view.Value(entry), imemoMethod) {
				return entry
			}
		}
		if flags&flagLocal != 0 {
			return 0
		}
		env = w.view.Value(env-8) &^ 3
		flags = w.view.Value(env)
		if env == 0 || !isMagicEnv(flags) {
			return 0
		}
	}
	return 0
}

func isMagicEnv(flags uint64) bool { return flags>>32 == 0 && flags&1 != 0 }

func (c *objectCache) has(addr uint64) bool {
	o := c.objects.At(addr)
	return o != nil && o.function.kind == isOwner
}
