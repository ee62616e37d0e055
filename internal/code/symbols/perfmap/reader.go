// SPDX-License-Identifier: Apache-2.0

package perfmap

import (
	"io"
	"os"
	"time"

	"prywalk/internal/host/filememory"
)

// File is an open perf map.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64 // when opened
	Stat() (os.FileInfo, error)
}

// Reader is a process's perf map, read in steps. Compilers append: what was read holds unless the file is another or
// shorter.
type Reader struct {
	m      *Map
	memory *filememory.Account
	file   os.FileInfo // identity; nil means unknown
	read   int64       // bytes
	whole  bool
	next   time.Time
}

// A grown map is read at most every mapEvery. Reading takes at most 1/mapShare of the time, 1/stepShare until first
// complete.
const (
	mapEvery  = time.Second
	mapShare  = 20
	stepShare = 4
	// Step is the bytes read at a time, in some milliseconds.
	Step     = 8 << 20
	maxSteps = maxBytes/Step + 2
	maxBytes = 256 << 20 // of a file
)

// NewReader takes memory of an account.
func NewReader(memory *filememory.Account) *Reader { return &Reader{memory: memory} }

// Map returns the perf map, read further if due, or nil. open returns nil if there is no file. whole demands all of it;
// between, which may be nil, is called between steps.
func (r *Reader) Map(open func() File, whole bool, between func()) *Map {
	began := time.Now()
	due := began.After(r.next)
	// bounded, as the file may be replaced each time
	for step := 0; step < maxSteps && (due || whole && !r.whole); step++ {
		r.readStep(open())
		r.next = r.due(began)
		due, began = false, time.Now()
		if whole && !r.whole && between != nil {
			between()
		}
	}
	return r.m
}

// Expire makes the next call of Map read.
func (r *Reader) Expire() { r.next = time.Time{} }

// Close frees the memory.
func (r *Reader) Close() { r.memory.Close() }

func (r *Reader) due(began time.Time) time.Time {
	took := time.Since(began)
	if r.whole {
		return began.Add(max(mapEvery, mapShare*took))
	}
	return began.Add(stepShare * took)
}

func (r *Reader) readStep(f File) {
	if f == nil {
		r.whole = true
		return
	}
	defer f.Close()
	size := f.Size()
	info, _ := f.Stat() // nil means unknown
	if size < r.read || r.file != nil && info != nil && !os.SameFile(r.file, info) {
		r.memory.Close()
		*r = Reader{memory: r.memory}
	}
	if r.m == nil {
		r.m, r.file = &Map{memory: r.memory}, info
	}
	if size > maxBytes && !r.m.full {
		r.memory.Refuse(size, "functions")
		r.m.drop()
	}
	if r.whole = r.read >= size || r.m.full; r.whole {
		return
	}
	limit := min(size-r.read, Step)
	got, err := r.m.readFrom(io.NewSectionReader(f, r.read, limit), limit)
	r.read += got
	r.whole = got < limit || r.read >= size || err != nil // what is readable is used
	if r.whole || len(r.m.entries) >= 2*r.m.indexed {
		r.m.index()
	}
}
