// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"prywalk/frames"
)

func sample() *File {
	regs := frames.Regs{Arch: frames.X86_64, PC: 0x401000}
	for i := range uint8(numRegs) {
		regs.Set(i, uint64(i)*0x1111)
	}
	return &File{
		Modules: []Module{{0x400000, 0x500000, 0, "/bin/a"}, {0x7f0000000000, 0x7f0000100000, 0x7f0000000000, "/lib/b c"}},
		Stacks: []Stack{{regs, 0x7ffc0000, []byte("0123456789abcdef"), []uint64{0x401000, 0x402000}},
			{regs, 0x10, []byte{}, nil}},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	var b bytes.Buffer
	want := sample()
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got.Frames() != 2 {
		t.Errorf("%d frames", got.Frames())
	}
}

func TestEveryCutIsRefused(t *testing.T) {
	var b bytes.Buffer
	if err := sample().Write(&b); err != nil {
		t.Fatal(err)
	}
	for n := range b.Len() {
		if _, err := Read(bytes.NewReader(b.Bytes()[:n])); !errors.Is(err, ErrFormat) {
			t.Fatalf("%d bytes of %d: %v", n, b.Len(), err)
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := sample().Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := s.Write(&again); err != nil || !bytes.Equal(again.Bytes(), data) {
			t.Errorf("written again it is not the same (%v)", err)
		}
	})
}
