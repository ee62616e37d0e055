// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Fields are the columns for perf script -F.
const Fields = "pid,tid,time,ip,sym,dso"

const (
	maxLine   = 1 << 20
	maxFrames = 4096
)

// ErrSyntax means that the text is not perf script's.
var ErrSyntax = errors.New("not the output of perf script -F " + Fields)

// Frame is one line of a stack.
type Frame struct {
	// Addr is an offset in File; without a file, an address.
	Addr uint64
	Name string // "[unknown]" if perf knows none
	File string // path, or a name in square brackets
}

// Kernel reports whether the frame is of the kernel or a module of it.
func (f *Frame) Kernel() bool {
	if f.Addr>>63 != 0 {
		return true
	}
	switch {
	case !strings.HasPrefix(f.File, "["), f.File == "[vdso]", f.File == "[unknown]", f.File == "[vsyscall]",
		strings.HasPrefix(f.File, "[anon"), strings.HasPrefix(f.File, "[heap"), strings.HasPrefix(f.File, "[stack"):
		return false
	}
	return true
}

// Sample is one stack.
type Sample struct {
	PID, TID int
	// Time is by the clock of perf record, ns; perf prints µs.
	Time   int64
	Frames []Frame // innermost first, the kernel's before the user's
}

// User returns the innermost frame outside of the kernel; nil: none.
func (s *Sample) User() *Frame {
	for i := range s.Frames {
		if !s.Frames[i].Kernel() {
			return &s.Frames[i]
		}
	}
	return nil
}

// Parse calls each for every sample, valid until each returns. It returns the samples that perf reports as lost (with
// --show-lost-events).
func Parse(r io.Reader, each func(*Sample) error) (lost int64, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	var s Sample
	open := false
	flush := func() error {
		if !open {
			return nil
		}
		open = false
		return each(&s)
	}
	for number := 1; in.Scan(); number++ {
		line := in.Bytes()
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			err = flush()
		case bytes.Contains(line, []byte("PERF_RECORD_LOST")):
			lost += lostIn(line)
		case open && isFrame(line):
			err = s.addFrame(string(line))
		default:
			if err = flush(); err == nil {
				s = Sample{Frames: s.Frames[:0]}
				open, err = true, s.header(string(line))
			}
		}
		if err != nil {
			return lost, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := in.Err(); err != nil {
		return lost, err
	}
	return lost, flush()
}

func isFrame(line []byte) bool { return line[0] == '\t' }

func (s *Sample) header(line string) error {
	ids, at, ok := strings.Cut(strings.TrimSpace(line), " ")
	pid, tid, two := strings.Cut(ids, "/")
	at, colon := strings.CutSuffix(strings.TrimSpace(at), ":")
	secs, micros, dot := strings.Cut(at, ".")
	if !ok || !two || !colon || !dot || len(micros) > 9 {
		return fmt.Errorf("%w: %q", ErrSyntax, clip(line))
	}
	var errs [4]error
	var sec, frac int64
	s.PID, errs[0] = strconv.Atoi(pid)
	s.TID, errs[1] = strconv.Atoi(tid)
	sec, errs[2] = strconv.ParseInt(secs, 10, 33)
	frac, errs[3] = strconv.ParseInt(micros+strings.Repeat("0", 9-len(micros)), 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("%w: %q", ErrSyntax, clip(line))
	}
	s.Time = sec*1e9 + frac
	return nil
}

func (s *Sample) addFrame(line string) error {
	line = strings.TrimSpace(line)
	hex, rest, _ := strings.Cut(line, " ")
	addr, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return fmt.Errorf("%w: frame %q", ErrSyntax, clip(line))
	}
	f := Frame{Addr: addr, Name: rest}
	if i := max(strings.LastIndex(rest, " (/"), strings.LastIndex(rest, " ([")); i >= 0 && strings.HasSuffix(rest, ")") {
		f.Name = rest[:i]
		f.File = strings.TrimSuffix(rest[i+2:len(rest)-1], " (deleted)")
	}
	if len(s.Frames) < maxFrames {
		s.Frames = append(s.Frames, f)
	}
	return nil
}

func lostIn(line []byte) int64 {
	_, rest, _ := strings.Cut(string(line), " lost ")
	word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseInt(strings.TrimSuffix(word, ","), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func clip(s string) string { return s[:min(len(s), 80)] }
