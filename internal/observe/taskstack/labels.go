// SPDX-License-Identifier: Apache-2.0

package taskstack

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
	labelsPair = 32      // bytes of a pair
)

// copyLabels copies a task's labels, which may be freed later, into one region at the list's address: its head, its
// pairs, then the strings, padded to 8 bytes ([managed.TaskOffsets.Labels]; runtime/pprof/label.go since Go 1.24). The
// maps of Go up to 1.23 get the same form.
func (s *stacks) copyLabels(g []byte, rd *ptrace.Reader, out []frames.Region, n int) int {
	if s.layout.Labels == nil {
		return n
	}
	off := s.layout.Labels.Load()
	b := s.labels[:]
	if off <= 0 || off+8 > int64(len(g)) || word(g, off) == 0 || rd.Read(word(g, off), b[:labelsHead]) != labelsHead {
		return n
	}
	count, list := word(b, 8), word(b, 0)
	end := labelsHead + labelsPair*int(min(count, maxLabels))
	all := 0
	if isList := count > 0 && count <= maxLabels && word(b, 16) >= count; isList {
		if pairs := b[labelsHead:end]; rd.Read(list, pairs) != len(pairs) {
			return n
		}
	} else {
		count = s.mapPairs(list, rd, b)
		if count == 0 {
			return n
		}
		end = labelsHead + labelsPair*int(count)
	}
	texts := s.texts[:0]
	for at := labelsHead; at < labelsHead+labelsPair*int(count); at += labelsPair / 2 {
		size := word(b, int64(at)+8)
		if size > maxLabel || end+int(size+7)&^7 > len(b) {
			return n
		}
		if size > 0 {
			texts = append(texts, frames.Region{Addr: word(b, int64(at)), Bytes: b[end : end+int(size)]})
			all += int(size)
		}
		end += int(size+7) &^ 7
	}
	if rd.ReadAll(texts) != all {
		return n
	}
	out[n] = frames.Region{Addr: word(g, off), Bytes: b[:end]}
	return n + 1
}

// A map[string]string of one bucket (runtime/map.go until Go 1.23, hmap and bmap).
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

func (s *stacks) mapPairs(at uint64, rd *ptrace.Reader, list []byte) (count uint64) {
	bucket := s.bucket[:]
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
	if count != want {
		return 0
	}
	binary.LittleEndian.PutUint64(list[8:], count)
	return count
}
