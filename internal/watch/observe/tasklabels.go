// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/ptrace"
)

const (
	maxLabels  = 6       // labels copied of a task
	maxLabel   = 128     // bytes of a key or value
	labelsCopy = 1 << 10 // bytes of all copied labels
	labelsHead = 24      // bytes: address, length, capacity of a list of string pairs
	labelsPair = 32      // bytes
)

// copyLabels copies the labels into one region at the list's address: its head, its pairs, then the strings, padded to
// 8 bytes ([managed.TaskOffsets.Labels]; runtime/pprof/label.go since Go 1.24). The maps of Go up to 1.23 get the same
// form.
func (s *taskStacks) copyLabels(g []byte, rd *ptrace.Reader, out []frames.Region, n int) int {
	if s.layout.Labels == nil {
		return n
	}
	off := s.layout.Labels.Load()
	if off <= 0 || off+8 > int64(len(g)) || word(g, off) == 0 {
		return n
	}
	size := s.readLabels(word(g, off), rd)
	if size == 0 {
		return n
	}
	out[n] = frames.Region{Addr: word(g, off), Bytes: s.labels[:size]}
	return n + 1
}

// readLabels returns the bytes of the region, readPairs and mapPairs the number of pairs: 0 if they are unreadable or
// too many.
func (s *taskStacks) readLabels(at frames.Addr, rd *ptrace.Reader) int {
	if rd.Read(at, s.labels[:labelsHead]) != labelsHead {
		return 0
	}
	if n := s.readPairs(rd); n > 0 {
		return s.readTexts(n, rd)
	}
	return 0
}

func (s *taskStacks) readPairs(rd *ptrace.Reader) int {
	list, count, capacity := word(s.labels[:], 0), word(s.labels[:], 8), word(s.labels[:], 16)
	if count == 0 || count > maxLabels || capacity < count { // a map
		return s.mapPairs(list, rd)
	}
	pairs := s.labels[labelsHead : labelsHead+labelsPair*int(count)]
	if rd.Read(list, pairs) != len(pairs) {
		return 0
	}
	return int(count)
}

func (s *taskStacks) readTexts(n int, rd *ptrace.Reader) int {
	b := s.labels[:]
	end := labelsHead + labelsPair*n
	for at := labelsHead; at < labelsHead+labelsPair*n; at += labelsPair / 2 {
		size := word(b, int64(at)+8)
		if size > maxLabel || end+int(size+7)&^7 > len(b) {
			return 0
		}
		if size > 0 && rd.Read(word(b, int64(at)), b[end:end+int(size)]) != int(size) {
			return 0
		}
		end += int(size+7) &^ 7
	}
	return end
}

// These are of a map[string]string of one bucket (runtime/map.go until Go 1.23, hmap and bmap).
const (
	mapBytes     = 32
	mapLogSize   = 9
	mapBuckets   = 16
	mapOld       = 24
	bucketSlots  = 8
	bucketValues = bucketSlots + 16*bucketSlots
	bucketBytes  = bucketValues + 16*bucketSlots
	slotInUse    = 5 // at least
)

func (s *taskStacks) mapPairs(at frames.Addr, rd *ptrace.Reader) (count int) {
	bucket, list := s.bucket[:], s.labels[:]
	if at == 0 || rd.Read(at, bucket[:mapBytes]) != mapBytes || word(bucket, mapOld) != 0 || bucket[mapLogSize] != 0 ||
		word(bucket, 0) == 0 || word(bucket, 0) > maxLabels {
		return 0
	}
	want := word(bucket, 0)
	if rd.Read(word(bucket, mapBuckets), bucket) != len(bucket) {
		return 0
	}
	for slot := range bucketSlots {
		if bucket[slot] < slotInUse || count == maxLabels {
			continue
		}
		to := list[labelsHead+labelsPair*count:]
		copy(to[:16], bucket[bucketSlots+16*slot:])
		copy(to[16:labelsPair], bucket[bucketValues+16*slot:])
		count++
	}
	if uint64(count) != want {
		return 0
	}
	binary.LittleEndian.PutUint64(list[8:], want)
	return count
}
