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

// LabelsAt implements [managed.Scheduler]; nil for none or an unknown layout. Labels are immutable.
func (l *labels) LabelsAt(at frames.Addr) map[string]string {
	var words [24]byte
	if at == 0 || l.allgs.program.host.Read(at, words[:]) != len(words) {
		return nil
	}
	first, n := binary.LittleEndian.Uint64(words[:]), binary.LittleEndian.Uint64(words[8:])
	if room := binary.LittleEndian.Uint64(words[16:]); n > 0 && n <= maxLabels && n <= room {
		if out := l.labelList(first, n); out != nil {
			return out
		}
	}
	return l.labelMap(first)
}

// labelList reads n labels at an address: since Go 1.24 an array of pairs of strings (runtime/pprof.LabelSet).
func (l *labels) labelList(at, n uint64) map[string]string {
	pairs := make([]byte, 32*n)
	if l.allgs.program.host.Read(at, pairs) != len(pairs) {
		return nil
	}
	out := make(map[string]string, n)
	for ; len(pairs) > 0; pairs = pairs[32:] {
		if !l.label(out, pairs, pairs[16:]) {
			return nil
		}
	}
	return out
}

// Until Go 1.23 a map[string]string (runtime/map.go, hmap and bmap).
const (
	hmapBytes    = 32
	hmapB        = 9
	hmapBuckets  = 16
	hmapOld      = 24
	bucketSlots  = 8
	bucketKeys   = bucketSlots
	bucketValues = bucketKeys + 16*bucketSlots
	bucketNext   = bucketValues + 16*bucketSlots
	bucketBytes  = bucketNext + 8
	minTopHash   = 5 // less: the slot is empty
	maxLogMap    = 4
)

func (l *labels) labelMap(at uint64) map[string]string {
	var h [hmapBytes]byte
	if at == 0 || l.allgs.program.host.Read(at, h[:]) != len(h) {
		return nil
	}
	count, buckets := binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[hmapBuckets:])
	if count == 0 || count > maxLabels || h[hmapB] > maxLogMap || binary.LittleEndian.Uint64(h[hmapOld:]) != 0 {
		return nil
	}
	out := make(map[string]string, count)
	left := maxLabels
	for i := range uint64(1) << h[hmapB] {
		for at := buckets + i*bucketBytes; at != 0 && left > 0; left-- {
			var b [bucketBytes]byte
			if l.allgs.program.host.Read(at, b[:]) != len(b) {
				return nil
			}
			for slot := range bucketSlots {
				if b[slot] >= minTopHash && !l.label(out, b[bucketKeys+16*slot:], b[bucketValues+16*slot:]) {
					return nil
				}
			}
			at = binary.LittleEndian.Uint64(b[bucketNext:])
		}
	}
	if uint64(len(out)) != count {
		return nil
	}
	return out
}

func (l *labels) label(to map[string]string, key, value []byte) bool {
	k, ok := l.allgs.program.stringOf(key, maxLabelBytes)
	v, ok2 := l.allgs.program.stringOf(value, maxLabelBytes)
	if ok && ok2 {
		to[k] = v
	}
	return ok && ok2
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

// copiedLabels decodes the copy of package observe (tasklabels.go): a list, its pairs, and the strings padded to words.
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
