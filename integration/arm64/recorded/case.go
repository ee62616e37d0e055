// SPDX-License-Identifier: Apache-2.0

package recorded

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// CoreName is the core's name among a case's files.
const CoreName = "core"

// Case is a recorded stack.
type Case struct {
	About string
	// Frames are those of the core's first thread, innermost first. Stop is the stop reason.
	Frames []Frame
	Stop   string
	// Files are the core, and files by their absolute paths on the recorded machine.
	Files []File
}

// Frame is an expected frame.
type Frame struct {
	// PC and SP are as in frames.Frame.
	PC, SP uint64
	Method string
	// Function is for readers only.
	Function string
}

// File is a file of which some bytes are kept; all others are zero.
type File struct {
	Name string
	Data []byte
}

const (
	maxFiles  = 16
	maxFile   = 512 << 20
	lineBytes = 32
)

// Write writes the case as text.
func (c *Case) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "about %s\n", c.About)
	for _, f := range c.Frames {
		fmt.Fprintf(b, "frame %#x %#x %s %s\n", f.PC, f.SP, f.Method, f.Function)
	}
	fmt.Fprintf(b, "stop %s\n", c.Stop)
	for i := range c.Files {
		f := &c.Files[i]
		fmt.Fprintf(b, "file %d %s\n", len(f.Data), f.Name)
		for at := 0; at < len(f.Data); at += lineBytes {
			if line := f.Data[at:min(at+lineBytes, len(f.Data))]; slices.ContainsFunc(line,
				func(c byte) bool { return c != 0 }) {
				from, to := trimmed(line)
				fmt.Fprintf(b, "%x %x\n", at+from, line[from:to])
			}
		}
	}
	return b.Flush()
}

func trimmed(line []byte) (from, to int) {
	for to = len(line); line[to-1] == 0; to-- {
	}
	for line[from] == 0 {
		from++
	}
	return from, to
}

var errCase = errors.New("not a recorded case")

// Read reads the text of Write. Errors have the line number.
func Read(r io.Reader) (*Case, error) {
	c := &Case{}
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		key, rest, _ := strings.Cut(sc.Text(), " ")
		if err := c.line(key, rest); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return c, sc.Err()
}

func (c *Case) line(key, rest string) error {
	switch key {
	case "about":
		c.About = rest
	case "stop":
		c.Stop = rest
	case "frame":
		var f Frame
		if n, err := fmt.Sscanf(rest, "%v %v %s %s", &f.PC, &f.SP, &f.Method, &f.Function); n < 3 {
			return errors.Join(errCase, err)
		}
		c.Frames = append(c.Frames, f)
	case "file":
		size, name, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 || n > maxFile || len(c.Files) == maxFiles {
			return errors.Join(errCase, err)
		}
		c.Files = append(c.Files, File{Name: name, Data: make([]byte, n)})
	default:
		return c.bytes(key, rest)
	}
	return nil
}

func (c *Case) bytes(place, text string) error {
	at, err := strconv.ParseUint(place, 16, 64)
	if err != nil || len(c.Files) == 0 {
		return errors.Join(errCase, err)
	}
	b, err := hex.DecodeString(text)
	data := c.Files[len(c.Files)-1].Data
	if err != nil || at > uint64(len(data)) || uint64(len(b)) > uint64(len(data))-at {
		return errors.Join(errCase, err)
	}
	copy(data[at:], b)
	return nil
}
