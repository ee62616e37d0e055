// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"strings"
)

// InternFrames numbers the functions of a managed frame, innermost inlined call first. The slice is not kept.
func (b *Builder) InternFrames(fs []Frame) FramesID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables.internFrames(fs)
}

func (t *tables) internFrames(fs []Frame) FramesID {
	t.key = t.key[:0]
	for i := range fs {
		t.key = t.appendFrame(t.key, &fs[i])
	}
	if id, ok := t.byFrames[string(t.key)]; ok {
		return id
	}
	list := make([]Frame, len(fs))
	for i, f := range fs {
		f.Name, f.System, f.File = t.shared(f.Name), t.shared(f.System), t.shared(f.File)
		list[i] = f
	}
	t.frameLists = append(t.frameLists, list)
	id := FramesID(len(t.frameLists))
	t.byFrames[string(t.key)] = id
	return id
}

func (t *tables) appendFrame(key []byte, f *Frame) []byte {
	for _, s := range [...]string{f.Name, f.System, f.File} {
		key = binary.AppendUvarint(key, uint64(t.nameNumber(s)))
	}
	key = binary.AppendVarint(key, int64(f.Line))
	key = binary.AppendVarint(key, int64(f.StartLine))
	if f.Inlined {
		return append(key, 1)
	}
	return append(key, 0)
}

func (t *tables) shared(s string) string {
	if s == "" {
		return ""
	}
	return t.names[t.nameNumber(s)]
}

// SystemNameOfType returns a function's system name with its frame type.
func SystemNameOfType(name, typ string) string {
	if typ == "" {
		return ""
	}
	return name + " [" + typ + "]"
}

// FrameType returns the frame type at the end of a system name, or "".
func FrameType(name, system string) string {
	i := strings.LastIndex(system, " [")
	if i < 0 || !strings.HasSuffix(system, "]") {
		return ""
	}
	typ := system[i+2 : len(system)-1]
	isType := typ != "" && strings.Trim(typ, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
	if typ == Machinery || system[:i] == name && isType {
		return typ
	}
	return ""
}
