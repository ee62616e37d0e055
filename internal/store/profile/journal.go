// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"prywalk/internal/base/sample"
)

// maxRecords and maxChunkBytes bound a chunk, and so its label sets: a thread per request makes new ones all the time.
const (
	maxRecords    = 1 << 14
	maxChunkBytes = 1 << 19
)

// In the journal, end is the difference from the chunk's previous record. Labels are numbered in each chunk; the set
// follows the first use of its number.
type record struct {
	stack                             sample.StackID
	labels                            uint32
	set                               *labelSet // nil means that the number was used before
	end, samples, wall, runqueue, cpu int64
}

type journal struct {
	chunks  []chunk
	last    int64
	labels  map[labelSet]uint32 // numbers in the last chunk
	spill   spill
	spilled int
	ring    ring
}

func newJournal(m *Meta) journal {
	if m.Ring > 0 { // it is bounded, and a file would grow for ever
		return journal{ring: ring{length: int64(m.Ring)}}
	}
	return journal{spill: spill{dir: m.SpillTo, failed: m.SpillFailed}}
}

func (j *journal) append(iv *Interval) {
	n := len(j.chunks)
	if n == 0 || j.chunks[n-1].records == maxRecords || len(j.chunks[n-1].bytes) >= maxChunkBytes {
		j.spillOldest()
		j.dropOld()
		j.beginChunk()
	}
	to := &j.chunks[len(j.chunks)-1]
	set := labelsOf(iv)
	number, known := j.labels[set]
	c := binary.AppendUvarint(to.bytes, uint64(iv.Stack))
	if known {
		c = binary.AppendUvarint(c, uint64(number))
	} else {
		c = set.appendTo(binary.AppendUvarint(c, uint64(len(j.labels))))
		j.labels[set] = uint32(len(j.labels))
	}
	c = binary.AppendVarint(c, iv.End-j.last)
	c = binary.AppendVarint(c, iv.Samples)
	c = binary.AppendVarint(c, iv.Wall)
	c = binary.AppendVarint(c, iv.RunQueue)
	c = binary.AppendVarint(c, iv.CPU)
	to.bytes, to.records, to.newest = c, to.records+1, max(to.newest, iv.End)
	j.last = iv.End
}

func (j *journal) beginChunk() {
	j.chunks = append(j.chunks, chunk{})
	j.last, j.labels = 0, map[labelSet]uint32{}
}

// dropWritten drops the first n chunks, and the file of the spill once no chunk is in it.
func (j *journal) dropWritten(n int, m *Meta) {
	j.chunks, j.spilled = slices.Delete(j.chunks, 0, n), max(0, j.spilled-n)
	if j.spilled == 0 {
		j.spill.close()
		j.spill = newJournal(m).spill
	}
}

func (j *journal) spillOldest() {
	if j.spill.enabled() && len(j.chunks)-j.spilled >= maxChunksInMemory {
		j.spill.write(&j.chunks[j.spilled])
		if j.chunks[j.spilled].file != nil {
			j.spilled++
		}
	}
}

// lostError means that intervals could not be read from the spill's file.
type lostError struct {
	intervals int
	err       error // of the first read that failed
}

func (e *lostError) Error() string {
	return fmt.Sprintf("intervals that could not be read from a temporary file: %d (%v)", e.intervals, e.err)
}

func (e *lostError) Unwrap() error { return e.err }

// eachRecord returns f's error, or a [*lostError] after all that could be read.
func eachRecord(chunks []chunk, f func(*record) error) error {
	var r record
	var buf []byte
	lost := lostError{}
	for i := range chunks {
		c, err := chunks[i].load(&buf)
		if err != nil {
			lost.intervals += chunks[i].records
			lost.err = cmp.Or(lost.err, err)
			continue
		}
		r.end = 0
		for sets := uint32(0); len(c) > 0; {
			r.stack = sample.StackID(takeUvarint(&c))
			r.labels, r.set = uint32(takeUvarint(&c)), nil
			if r.labels == sets {
				r.set = takeLabels(&c)
				sets++
			}
			r.end += takeVarint(&c)
			r.samples = takeVarint(&c)
			r.wall = takeVarint(&c)
			r.runqueue = takeVarint(&c)
			r.cpu = takeVarint(&c)
			if err := f(&r); err != nil {
				return err
			}
		}
	}
	if lost.err != nil {
		return &lost
	}
	return nil
}

// takeUvarint decodes a number and removes it from c. The journal is trusted.
func takeUvarint(c *[]byte) uint64 {
	v, n := binary.Uvarint(*c)
	*c = (*c)[n:]
	return v
}

func takeVarint(c *[]byte) int64 {
	v, n := binary.Varint(*c)
	*c = (*c)[n:]
	return v
}

type sumKey struct {
	stack  sample.StackID
	labels uint32
}

// sums replaces the journal of an aggregating Builder.
type sums struct {
	rows  []record
	index map[sumKey]int
}

func (s *sums) add(a *record) {
	k := sumKey{a.stack, a.labels}
	i, ok := s.index[k]
	if !ok {
		if s.index == nil {
			s.index = map[sumKey]int{}
		}
		i = len(s.rows)
		s.rows = append(s.rows, record{stack: a.stack, labels: a.labels})
		s.index[k] = i
	}
	r := &s.rows[i]
	r.samples += a.samples
	r.wall += a.wall
	r.runqueue += a.runqueue
	r.cpu += a.cpu
}

// ring bounds a journal by time, and by memory.
type ring struct {
	length int64 // in nanoseconds; 0 means unbounded
	lost   int64 // what ended before is lost for lack of memory, in nanoseconds of Unix time; 0 means nothing
}

const maxRingBytes = 64 << 20

func (j *journal) dropOld() {
	if j.ring.length == 0 || len(j.chunks) == 0 {
		return
	}
	newest := j.chunks[len(j.chunks)-1].newest
	n := 0
	for n < len(j.chunks) && j.chunks[n].newest < newest-j.ring.length {
		n++
	}
	size := 0
	for _, c := range j.chunks[n:] {
		size += len(c.bytes)
	}
	for ; size > maxRingBytes; n++ {
		size -= len(j.chunks[n].bytes)
		j.ring.lost = max(j.ring.lost, j.chunks[n].newest)
	}
	j.chunks = slices.Delete(j.chunks, 0, n)
}

// clip leaves the part of an interval after from; it returns false if it ended before.
func (r *record) clip(from int64) bool {
	if r.end <= from {
		return false
	}
	if part := r.end - from; part < r.wall {
		for _, v := range []*int64{&r.samples, &r.runqueue, &r.cpu} {
			*v = sample.Portion(*v, part, r.wall)
		}
		r.wall = part
	}
	return true
}
