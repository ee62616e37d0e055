// SPDX-License-Identifier: Apache-2.0

package profile

import "encoding/binary"

// # Labels of threads that come and go
//
// A record says by a number whose it is and in which state. A program that starts a thread for each request has new
// such labels all the time. So a number holds for a part of the journal only, an era. An era that has many labels ends.
// Its labels are packed then, a fifth as large, and go to the file where the journal's older part lies. Threads that
// live on have theirs in the next era, too.

// mostLabels is how many labels an era has at most. More of them are packed less often, and take more memory.
const mostLabels = 1 << 13

// era is a part of the journal, and its labels by their numbers: as a list, or packed when it is over.
type era struct {
	list   []labelSet
	packed chunk
}

// eras are all of them. The last one is under way.
type eras struct {
	all     []era
	numbers map[labelSet]uint32 // of the one that is under way
}

// number gives the number of an interval's labels. began: it is the first of a new era.
func (e *eras) number(iv *Interval, s *spill) (n uint32, began bool) {
	k := labelsOf(iv)
	if n, ok := e.numbers[k]; ok {
		return n, false
	}
	if began = len(e.all) == 0 || len(e.numbers) >= mostLabels; began {
		e.begin(s)
	}
	now := &e.all[len(e.all)-1]
	n = uint32(len(now.list))
	now.list = append(now.list, k)
	e.numbers[k] = n
	return n, began
}

// begin ends the era that is under way, and begins another.
func (e *eras) begin(s *spill) {
	if n := len(e.all); n > 0 {
		over := &e.all[n-1]
		*over = era{packed: chunk{bytes: pack(over.list)}}
		if s.on() {
			s.put(&over.packed)
		}
	}
	e.all = append(e.all, era{})
	e.numbers = map[labelSet]uint32{}
}

// size gives how many labels are held unpacked.
func (e *eras) size() int { return len(e.numbers) }

// labels gives the labels of an era.
func (e *era) labels() ([]labelSet, error) {
	if e.list != nil {
		return e.list, nil
	}
	var buf []byte
	b, err := e.packed.load(&buf)
	if err != nil {
		return nil, err
	}
	return unpack(b), nil
}

// numbers and texts are the parts of a labelSet, in the order in which they are packed.
func (l *labelSet) numbers() [5]*int { return [...]*int{&l.pid, &l.tid, &l.nsPID, &l.nsTID, &l.owner} }
func (l *labelSet) texts() [6]*string {
	return [...]*string{&l.comm, &l.thread, &l.state, &l.wait, &l.waitsFor, &l.role}
}

// pack writes labels as variable-length integers and strings.
func pack(list []labelSet) (b []byte) {
	for i := range list {
		for _, n := range list[i].numbers() {
			b = binary.AppendVarint(b, int64(*n))
		}
		for _, s := range list[i].texts() {
			b = append(binary.AppendUvarint(b, uint64(len(*s))), *s...)
		}
	}
	return append(make([]byte, 0, len(b)), b...)
}

// unpack reads what pack wrote; it is never damaged.
func unpack(b []byte) (list []labelSet) {
	known := map[string]string{}
	for len(b) > 0 {
		var l labelSet
		for _, n := range l.numbers() {
			*n = int(takeVarint(&b))
		}
		for _, to := range l.texts() {
			n := takeUvarint(&b)
			s, ok := known[string(b[:n])]
			if !ok {
				s = string(b[:n])
				known[s] = s
			}
			*to, b = s, b[n:]
		}
		list = append(list, l)
	}
	return list
}
