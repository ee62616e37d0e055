// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"unicode/utf8"

	"prywalk/frames"
)

// Per goroutine, and of a key or value in bytes.
const (
	maxLabels     = 64
	maxLabelBytes = 1 << 10
)

// labels reads pprof labels (runtime/pprof, Do and SetGoroutineLabels).
type labels struct{ allgs *allgs }

// LabelsAt implements [managed.Scheduler]; nil for none or an unknown layout. Labels are immutable: since Go 1.24 a
// slice of pairs of strings (runtime/pprof.LabelSet).
func (l *labels) LabelsAt(at frames.Addr) map[string]string {
	var words [24]byte
	if at == 0 || l.allgs.host.Read(at, words[:]) != len(words) {
		return nil
	}
	n, room := word64(words[:], 8), word64(words[:], 16)
	if n == 0 || n > maxLabels || n > room {
		return nil
	}
	pairs := make([]byte, 32*n)
	if l.allgs.host.Read(word64(words[:], 0), pairs) != len(pairs) {
		return nil
	}
	out := make(map[string]string, n)
	for ; len(pairs) > 0; pairs = pairs[32:] {
		key, ok := l.allgs.stringOf(pairs, maxLabelBytes)
		value, ok2 := l.allgs.stringOf(pairs[16:], maxLabelBytes)
		if !ok || !ok2 {
			return nil
		}
		out[key] = value
	}
	return out
}

// Labels implements [managed.Scheduler].
func (l *labels) Labels(regs *frames.Regs, mem frames.Memory) map[string]string {
	if l.allgs.fields.start == 0 && !l.allgs.findFields() {
		return nil
	}
	g, ok := l.allgs.offsets.curg(regs, mem)
	if !ok || g == 0 {
		return nil
	}
	at, ok := mem.Word(g + uint64(l.allgs.fields.start+afterStartLabels))
	if !ok || at == 0 {
		return nil
	}
	return copiedLabels(mem, at)
}

// copiedLabels decodes package taskstack's copy: a list, its pairs, and the strings padded to words.
func copiedLabels(mem frames.Memory, at uint64) map[string]string {
	n, ok := mem.Word(at + 8)
	if !ok || n > maxLabels {
		return nil
	}
	out, text := map[string]string{}, at+24+32*n
	take := func(header uint64) (string, bool) {
		size, ok := mem.Word(header + 8)
		if !ok || size > maxLabelBytes {
			return "", false
		}
		var b []byte
		for ; uint64(len(b)) < size; text += 8 {
			w, ok := mem.Word(text)
			if !ok {
				return "", false
			}
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return string(b[:size]), utf8.Valid(b[:size])
	}
	for i := range n {
		key, ok := take(at + 24 + 32*i)
		value, ok2 := take(at + 24 + 32*i + 16)
		if !ok || !ok2 {
			return nil
		}
		out[key] = value
	}
	return out
}
