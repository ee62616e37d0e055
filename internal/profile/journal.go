// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"

	"prywalk/internal/sample"
)

// chunkSize is the size of the pieces that the journal grows by.
const chunkSize = 1 << 16

// maxRecord is the most bytes that one record takes: seven integers.
const maxRecord = 7 * binary.MaxVarintLen64

// record is one interval as numbers. In the journal its end is written as the
// difference from the one before in the same chunk.
type record struct {
	stack                             sample.StackID
	labels                            uint32
	end, samples, wall, runqueue, cpu int64
}

// journal is an append-only list of records. Each chunk can be read by itself.
type journal struct {
	chunks  []chunk
	last    int64 // the end of the chunk's last record
	eras    eras
	spill   spill
	spilled int // so many chunks are in the file, the first ones
}

func (j *journal) append(stack sample.StackID, iv *Interval) {
	labels, began := j.eras.number(iv, &j.spill)
	n := len(j.chunks)
	if n == 0 || began || len(j.chunks[n-1].bytes)+maxRecord > chunkSize {
		j.ease()
		j.chunks = append(j.chunks, chunk{bytes: make([]byte, 0, chunkSize), era: len(j.eras.all) - 1})
		j.last = 0
		n++
	}
	c := j.chunks[n-1].bytes
	c = binary.AppendUvarint(c, uint64(stack))
	c = binary.AppendUvarint(c, uint64(labels))
	c = binary.AppendVarint(c, iv.End-j.last)
	c = binary.AppendVarint(c, iv.Samples)
	c = binary.AppendVarint(c, iv.Wall)
	c = binary.AppendVarint(c, iv.RunQueue)
	c = binary.AppendVarint(c, iv.CPU)
	j.chunks[n-1].bytes = c
	j.last = iv.End
}

// ease spills the oldest chunk if there are many.
func (j *journal) ease() {
	if j.spill.on() && len(j.chunks)-j.spilled >= keepChunks {
		j.spill.put(&j.chunks[j.spilled])
		if j.chunks[j.spilled].file != nil {
			j.spilled++
		}
	}
}

// each calls f for every record of chunks until f reports an error. It calls begin before each chunk, with the number
// of its era, and between after it, if these are not nil.
func each(chunks []chunk, between func(), begin func(era int) error, f func(*record) error) error {
	var r record
	var buf []byte
	for i := range chunks {
		c, err := chunks[i].load(&buf)
		if err != nil {
			return err
		}
		if begin != nil {
			if err := begin(chunks[i].era); err != nil {
				return err
			}
		}
		r.end = 0
		for len(c) > 0 {
			r.stack = sample.StackID(takeUvarint(&c))
			r.labels = uint32(takeUvarint(&c))
			r.end += takeVarint(&c)
			r.samples = takeVarint(&c)
			r.wall = takeVarint(&c)
			r.runqueue = takeVarint(&c)
			r.cpu = takeVarint(&c)
			if err := f(&r); err != nil {
				return err
			}
		}
		if between != nil {
			between()
		}
	}
	return nil
}

// takeUvarint and takeVarint read what append wrote; the journal is never damaged.
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

// sumKey is what aggregated intervals share.
type sumKey struct {
	stack  sample.StackID
	labels uint32
}

// sums holds the intervals of an aggregating Builder.
type sums struct {
	rows  []record
	index map[sumKey]int
}

func (s *sums) add(stack sample.StackID, labels uint32, iv *Interval) {
	k := sumKey{stack, labels}
	i, ok := s.index[k]
	if !ok {
		if s.index == nil {
			s.index = map[sumKey]int{}
		}
		i = len(s.rows)
		s.rows = append(s.rows, record{stack: stack, labels: labels})
		s.index[k] = i
	}
	r := &s.rows[i]
	r.samples += iv.Samples
	r.wall += iv.Wall
	r.runqueue += iv.RunQueue
	r.cpu += iv.CPU
}
