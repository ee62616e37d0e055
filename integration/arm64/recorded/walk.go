// SPDX-License-Identifier: Apache-2.0

package recorded

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"prywalk/frames"
	"prywalk/internal/walk/core"
)

// Walker walks a case's core with its files below a directory.
type Walker struct {
	dir  string
	core []byte
}

// NewWalker writes the files below dir, which must be empty.
func NewWalker(c *Case, dir string) (*Walker, error) {
	w := &Walker{dir: dir}
	for _, f := range c.Files {
		if f.Name == CoreName {
			w.core = f.Data
			continue
		}
		if err := w.write(f.Name, f.Data); err != nil {
			return nil, err
		}
	}
	if w.core == nil {
		return nil, errors.New("the case has no core")
	}
	return w, nil
}

func (w *Walker) write(name string, data []byte) error {
	path := filepath.Join(w.dir, filepath.Clean("/"+name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

const maxFrames = 200

// Walk walks the core's first thread. Functions have no names.
func (w *Walker) Walk() (out []Frame, stop string, err error) {
	c, err := core.Open(bytes.NewReader(w.core), int64(len(w.core)), w.dir)
	if err != nil {
		return nil, "", err
	}
	defer c.Close()
	walker := frames.Walker{MaxDepth: maxFrames}
	for walker.Init(c.Space(), &c.Threads()[0].Regs, c.Memory()); walker.Next(); {
		f := walker.Frame()
		out = append(out, Frame{PC: f.PC, SP: f.SP, Method: f.Method.String()})
	}
	return out, walker.StopReason().String(), nil
}
