// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"fmt"
	"maps"
	"testing"
)

const labelsBase = 0x1000 // of memoryHost

// labelMemory makes label sets.
type labelMemory struct{ b []byte }

func (m *labelMemory) take(size int) int {
	at := len(m.b)
	m.b = append(m.b, make([]byte, (size+7)&^7)...)
	return at
}

func (m *labelMemory) put(at int, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(m.b[at+8*i:], w)
	}
}

// text puts a string, and its header to at.
func (m *labelMemory) text(at int, s string) {
	to := m.take(len(s))
	copy(m.b[to:], s)
	m.put(at, labelsBase+uint64(to), uint64(len(s)))
}

// set makes a set of one to three words, as a goroutine's labels lead to.
func (m *labelMemory) set(words ...uint64) uint64 {
	at := m.take(24)
	m.put(at, words...)
	return labelsBase + uint64(at)
}

// list makes pairs of strings, as Go does since 1.24.
func (m *labelMemory) list(pairs ...string) uint64 {
	at := m.take(16 * len(pairs))
	for i, s := range pairs {
		m.text(at+16*i, s)
	}
	return labelsBase + uint64(at)
}

// hmap makes a map, as Go did until 1.23: buckets of eight slots, of which every second is used.
func (m *labelMemory) hmap(logBuckets int, buckets ...map[string]string) uint64 {
	head, first := m.take(hmapBytes), m.take(bucketBytes<<logBuckets)
	count := 0
	fill := func(at int, pairs map[string]string) {
		slot := 0
		for k, v := range pairs {
			m.b[at+slot] = minTopHash
			m.text(at+bucketKeys+16*slot, k)
			m.text(at+bucketValues+16*slot, v)
			slot, count = slot+2, count+1
		}
		for ; slot < bucketSlots; slot += 2 {
			m.b[at+slot] = minTopHash - 1
		}
	}
	for i, pairs := range buckets {
		at := first + i*bucketBytes
		if i >= 1<<logBuckets { // a bucket behind the first
			at = m.take(bucketBytes)
			m.put(first+bucketNext, labelsBase+uint64(at))
		}
		fill(at, pairs)
	}
	m.put(head, uint64(count))
	m.b[head+hmapB] = byte(logBuckets)
	m.put(head+hmapBuckets, labelsBase+uint64(first))
	return labelsBase + uint64(head)
}

func (m *labelMemory) read(at uint64) map[string]string {
	l := &labels{&allgs{program: &program{host: &memoryHost{memory: m.b}}}}
	return l.LabelsAt(at)
}

func TestLabelsOfEachReleaseAreRead(t *testing.T) {
	m := &labelMemory{}
	m.take(8)
	one, two := map[string]string{"user": "anna"}, map[string]string{"path": "/buy", "": "empty"}
	three := map[string]string{"user": "anna", "path": "/buy", "": "empty"}
	many := map[string]string{}
	for i := range 4 {
		many[fmt.Sprint(i)] = "x"
	}
	changed := m.hmap(0, one)
	m.put(int(changed-labelsBase)+hmapOld, labelsBase)
	miscounted := m.hmap(0, one)
	m.put(int(miscounted-labelsBase), 2)
	for what, c := range map[string]struct {
		at   uint64
		want map[string]string
	}{
		"none":                       {0, nil},
		"outside of memory":          {1 << 40, nil},
		"a list":                     {m.set(m.list("user", "anna"), 1, 1), one},
		"a list with more room":      {m.set(m.list("user", "anna", "path", "/buy", "", "empty"), 3, 4), three},
		"a list beyond its room":     {m.set(m.list("user", "anna"), 2, 1), nil},
		"a list that is too long":    {m.set(m.list("user", "anna"), maxLabels+1, maxLabels+1), nil},
		"a list that is not text":    {m.set(m.list("user", "\xff"), 1, 1), nil},
		"a map":                      {m.set(m.hmap(0, one)), one},
		"a full bucket":              {m.set(m.hmap(0, many)), many},
		"a map of two buckets":       {m.set(m.hmap(1, one, two)), three},
		"a map with a longer bucket": {m.set(m.hmap(0, one, two)), three},
		"an empty map":               {m.set(m.hmap(0)), nil},
		"a map that grows":           {m.set(changed), nil},
		"a map that is written to":   {m.set(miscounted), nil},
		"a map that is too large":    {m.set(m.hmap(maxLogMap+1, one)), nil},
	} {
		if got := m.read(c.at); (got == nil) != (c.want == nil) || !maps.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
