// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"prywalk/frames"
	"prywalk/internal/observe/copysize"
	"prywalk/internal/observe/deepstack"
	"prywalk/internal/procmem"
)

func (s *RawSample) copyTopOrStack(t *Thread, sp, below frames.Addr) error {
	if outline := t.hints().outlineFor(sp); outline != nil {
		return s.copyTop(t, sp, outline)
	}
	return s.copyStack(t, sp, below)
}

func (s *RawSample) copyStack(t *Thread, sp, below frames.Addr) error {
	s.copyShape = copyShape{}
	from := t.copyStart(sp, below)
	hints := t.hints()
	asked, end := hints.Bytes, hints.CopyEnd
	if end > from && end-from < uint64(asked) {
		s.Limit, asked = copysize.LimitCopyEnd, int(end-from)
	}
	return s.copyBytes(t, from, asked)
}

func (s *RawSample) copyTop(t *Thread, sp frames.Addr, o *deepstack.Outline) error {
	s.copyShape = copyShape{outline: o}
	return s.copyBytes(t, t.copyStart(sp, copysize.RedZone), deepstack.TopBytes)
}

func (t *Thread) copyStart(sp, below frames.Addr) frames.Addr {
	from := sp - below
	if t.Memory != nil && from&^0xfff != sp&^0xfff && t.Memory.MappingStart(sp) > from {
		return sp
	}
	return from
}

func (s *RawSample) copyBytes(t *Thread, from frames.Addr, asked int) error {
	s.buffers.reserveStack(asked)
	n, err := t.copy(from, s.buffers.stack[:asked])
	// An unmapped stack is empty.
	if n == 0 && err != nil && !errors.Is(err, procmem.ErrFault) {
		return err
	}
	s.setStack(from, n, asked)
	return nil
}

// copy returns the number of bytes. By the ID of an ended first thread, reads return 0 bytes.
func (t *Thread) copy(from frames.Addr, buf []byte) (int, error) {
	if t.Memory == nil {
		return procmem.ReadVM(t.TID, from, buf)
	}
	return t.Memory.Copy(t.TID, from, buf), nil
}

// setStack sets the copied stack. If all asked bytes were copied, it may go on for [copysize.MaxUsual].
func (s *RawSample) setStack(from frames.Addr, n, asked int) {
	s.Mem = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: s.buffers.stack[:n]}, Others: s.Mem.Others[:0]}
	s.Mem.StackEnd = from + uint64(n)
	if n == asked {
		s.Mem.StackEnd += copysize.MaxUsual
	}
}
