// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"path/filepath"
	"strings"
)

// Describe gives a list of functions its number: those of one managed frame, the innermost inlined call first. Equal
// lists get the same. The slice is not kept.
func (b *Builder) Describe(fs []Frame) DescriptionID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables.describe(fs)
}

// describe gives the number of a list of functions.
func (t *tables) describe(fs []Frame) DescriptionID {
	t.key = t.key[:0]
	for i := range fs {
		t.key = t.appendFrame(t.key, &fs[i])
	}
	if id, ok := t.byTold[string(t.key)]; ok {
		return id
	}
	own := make([]Frame, len(fs))
	for i, f := range fs {
		f.Name, f.System, f.File = t.shared(f.Name), t.shared(f.System), t.shared(f.File)
		own[i] = f
	}
	t.told = append(t.told, own)
	id := DescriptionID(len(t.told))
	t.byTold[string(t.key)] = id
	return id
}

// appendFrame adds what tells a frame from others to a key: its strings by their numbers, as they are kept once.
func (t *tables) appendFrame(key []byte, f *Frame) []byte {
	for _, s := range [...]string{f.Name, f.System, f.File} {
		key = binary.AppendUvarint(key, uint64(t.name(s)))
	}
	key = binary.AppendVarint(key, int64(f.Line))
	key = binary.AppendVarint(key, int64(f.StartLine))
	if f.Inlined {
		return append(key, 1)
	}
	return append(key, 0)
}

// shared gives the one copy of a string that is kept.
func (t *tables) shared(s string) string {
	if s == "" {
		return ""
	}
	return t.names[t.name(s)]
}

// Typed gives the system name of a function whose frame has that type; "" for none.
func Typed(name, typ string) string {
	if typ == "" {
		return ""
	}
	return typed(name, typ)
}

func typed(name, typ string) string { return name + " [" + typ + "]" }

// FrameType gives the type that a function's system name ends with; "" if it has none. name is the function's own.
func FrameType(name, system string) string {
	i := strings.LastIndex(system, " [")
	if i < 0 || !strings.HasSuffix(system, "]") {
		return ""
	}
	typ := system[i+2 : len(system)-1]
	if typ == Machinery || system[:i] == name && plain(typ) {
		return typ
	}
	return ""
}

// plain reports whether a word can be a frame's type.
func plain(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// nameless is the name of a function that has none: its file's, in brackets.
func nameless(path string) string {
	if strings.HasPrefix(path, "[") {
		return path
	}
	return "[" + filepath.Base(path) + "]"
}

// Told gives the functions that [Builder.Describe] has given a number, nil for 0. They must not be changed.
func (b *Builder) Told(id DescriptionID) []Frame {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id == 0 || int(id) > len(b.tables.told) {
		return nil
	}
	return b.tables.told[id-1]
}
