// SPDX-License-Identifier: Apache-2.0

package perfmap

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/budget"
)

// Reader is a process's perf map, read in steps. Compilers append: what was read holds unless the file is another or
// shorter.
type Reader struct {
	m      *Map
	memory *budget.Account
	file   os.FileInfo // identity; nil: unknown
	size   int64       // of the file when last opened
	read   int64       // bytes read
	whole  bool        // nothing more can be read
	next   time.Time
}

// A map that has grown is read at most every mapEvery. Reading takes at most 1/mapShare of the time, 1/stepShare until
// first complete.
const (
	mapEvery  = time.Second
	mapShare  = 20
	stepShare = 4
	// Step is the bytes read at a time while samples wait, for some milliseconds.
	Step     = 8 << 20
	maxSteps = DefaultLimit/Step + 1
)

// NewReader takes memory of an account.
func NewReader(memory *budget.Account) *Reader { return &Reader{memory: memory} }

// Map returns the perf map, read further if due; nil if there is none. open returns the file and its size. whole
// demands all of it; between, which may be nil, is then called between steps.
func (j *Reader) Map(open func() (io.ReadCloser, int64), whole bool, between func()) *Map {
	began := time.Now()
	due := began.After(j.next)
	// bounded, as the file may be replaced each time
	for step := 0; step < maxSteps && (due || whole && !j.whole); step++ {
		f, size := open()
		j.readStep(f, size)
		j.next = j.due(began)
		due, began = false, time.Now()
		if whole && !j.whole && between != nil {
			between()
		}
	}
	return j.m
}

// Expire makes the next call of Map read.
func (j *Reader) Expire() { j.next = time.Time{} }

// Whole reports whether nothing more can be read.
func (j *Reader) Whole() bool { return j.whole }

// Bytes returns the bytes read, holes included.
func (j *Reader) Bytes() int64 { return j.read }

// Used returns the memory in use, bytes.
func (j *Reader) Used() int64 { return j.memory.Used() }

// Close frees the memory.
func (j *Reader) Close() { j.memory.Close() }

// due returns the time of the next reading.
func (j *Reader) due(began time.Time) time.Time {
	took := time.Since(began)
	if j.whole {
		return began.Add(max(mapEvery, mapShare*took))
	}
	return began.Add(stepShare * took)
}

// readStep reads one step. Without a file, as of an ended process, the part read before stays.
func (j *Reader) readStep(f io.ReadCloser, size int64) {
	if f == nil {
		j.whole = true
		return
	}
	defer f.Close()
	if !j.continues(f, size) {
		j.reset()
		j.file = infoOf(f)
	}
	j.size = size
	end := min(size, DefaultLimit)
	if j.m == nil {
		j.m = &Map{memory: j.memory}
	}
	if j.whole = j.read >= end || j.m.full; j.whole {
		return
	}
	if s, ok := f.(io.Seeker); ok {
		j.skipHole(s, end)
		if _, err := s.Seek(j.read, io.SeekStart); err != nil {
			j.whole = true
			return
		}
	}
	limit := min(end-j.read, Step)
	got, err := j.m.readFrom(f, limit)
	j.read += got
	j.whole = got < limit || j.read >= end || err != nil // what is readable is used
	if j.whole || len(j.m.entries) >= 2*j.m.indexed {
		j.m.index()
	}
}

// skipHole skips a hole: its size is only claimed.
func (j *Reader) skipHole(f io.Seeker, end int64) {
	data, err := f.Seek(j.read, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) { // no more data (lseek(2))
		data = end
	} else if err != nil {
		return // the file system does not support it
	}
	if hole := min(data, end) - j.read; hole > 0 {
		j.m.feedZeros(hole)
		j.read += hole
	}
}

// continues reports whether a file is the one read before. One without seeking is read again when its size has changed.
func (j *Reader) continues(f io.ReadCloser, size int64) bool {
	if j.read == 0 || size == j.size && j.whole {
		return true
	}
	now := infoOf(f)
	_, seeks := f.(io.Seeker)
	return seeks && size >= j.read && (j.file == nil || now == nil || os.SameFile(j.file, now))
}

func (j *Reader) reset() {
	j.memory.Close()
	*j = Reader{memory: j.memory}
}

func infoOf(f io.ReadCloser) os.FileInfo {
	if s, ok := f.(interface{ Stat() (os.FileInfo, error) }); ok {
		if info, err := s.Stat(); err == nil {
			return info
		}
	}
	return nil
}
