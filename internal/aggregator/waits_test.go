// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"prywalk/frames"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

func TestAPollOfOneDescriptorNamesIt(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	const sp, array = 0x7000, 0x7010
	pollfd := func(fd int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(fd)) }
	stack := append(make([]byte, array-sp), pollfd(int32(read.Fd()))...)
	stack = append(append(append(stack, 1, 0, 0, 0), pollfd(-1)...), 1, 0, 0, 0)
	link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", read.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	var e waitExplainer
	defer e.close()
	th := &threadState{SharedThread: &handover.SharedThread{}, proc: ofPID(os.Getpid())}
	e.add(th)
	for _, c := range []struct {
		what  string
		addr  uint64
		count uint64
		want  string
	}{
		{"one in the copied stack", array, 1, link},
		{"one that poll ignores", array + 8, 1, ""},
		{"two", array, 2, ""},
		{"none", array, 0, ""},
		{"one that was not copied", 0x10, 1, ""},
	} {
		s := &observe.RawSample{State: sample.Sleeping}
		s.Regs.Arch = frames.X86_64
		s.Call = procmem.SyscallInfo{Nr: 7, Args: [6]uint64{c.addr, c.count}}
		s.Mem.Stack = frames.Region{Addr: sp, Bytes: stack}
		if got, owner := e.explain(th, s, 0); got != c.want || owner != 0 {
			t.Errorf("%s: %q, owner %d, want %q", c.what, got, owner, c.want)
		}
	}
}
