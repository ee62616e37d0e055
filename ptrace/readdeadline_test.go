// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"bytes"
	"os"
	"testing"
	"time"

	"prywalk/frames"
)

func TestCopyStopsBeforeAPieceThatWouldEndTooLate(t *testing.T) {
	from, to := bytes.Repeat([]byte("memory"), 20_000), make([]byte, 120_000)
	read := func(longest, took time.Duration) (n int, short bool) {
		var a readDeadline
		a.begin(Now(), longest)
		if took > 0 {
			a.pieceTime = took
		}
		return a.read(nil, os.Getpid(), addressOf(from), to), a.outOfTime
	}
	if n, short := read(0, 1e18); n != len(from) || short {
		t.Errorf("without a limit: %d bytes, short %v; want %d", n, short, len(from))
	}
	if n, short := read(1e12, 0); n != len(from) || short || !bytes.Equal(from, to) {
		t.Errorf("with enough time: %d bytes, short %v; want %d", n, short, len(from))
	}
	if n, short := read(1e12, 2e12); n != 0 || !short {
		t.Errorf("a piece takes too long: %d bytes, short %v; want 0, short", n, short)
	}
	if n, short := read(1, 0); n != 0 || !short {
		t.Errorf("no time left: %d bytes, short %v; want 0, short", n, short)
	}
	var slow readDeadline // the tracer waits for a CPU within a piece
	slow.pieceTime = initialPieceTime
	slow.begin(Now(), 1e12)
	slow.learnPieceTime(pieceSize, Now().Add(-1e12))
	if slow.pieceTime > maxPieceTime {
		t.Errorf("after a slow piece the next is expected to take %d ns, want at most %d", slow.pieceTime, maxPieceTime)
	}
	refusals := 0
	refused := readDeadline{pieceTime: 1e13}
	for ; refusals < 20; refusals++ {
		if refused.begin(Now(), 1e12); refused.read(nil, os.Getpid(), addressOf(from), to[:1]) == 1 {
			break
		}
	}
	if refusals < 2 || refusals == 20 {
		t.Errorf("a piece is read after %d refusals, want fewer than 20", refusals)
	}
	var late readDeadline
	late.begin(Now().Add(-1e15), 1e12)
	if n := late.read(nil, os.Getpid(), addressOf(from), to); n != len(from) || late.outOfTime {
		t.Errorf("a late stop: %d bytes, short %v; want %d", n, late.outOfTime, len(from))
	}
	if n, short := read(1e12, 0.9e12); n != len(from) || short {
		t.Errorf("a piece takes less than estimated: %d bytes, short %v; want %d", n, short, len(from))
	}
}

func TestStopBeyondItsTimeReadsNoMemory(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		for _, longest := range []time.Duration{1, 0, patience} {
			var s Stop
			got := 0
			other := doing{do: func(rd *Reader) {
				var b [64]byte
				got += rd.Read(p.lo, b[:])
			}}
			for _, e := range []OtherMemory{nil, other} {
				stack := make([]byte, 256)
				req := Request{Stack: stack, OtherMemory: e, Regions: []frames.Region{{}}, MaxStop: longest}
				if err := c.StopThread(p.tid, soon(), &req, &s); err != nil {
					t.Error(err)
					return
				}
				if whole := longest != 1; s.Copy.OutOfTime == whole || (s.Copy.StackLen == len(stack)) != whole || s.Regs.PC == 0 ||
					s.Copy.StackAsked != s.Copy.StackLen {
					t.Errorf("limit %d: out of time %v, %d of %d bytes, pc %#x", longest, s.Copy.OutOfTime, s.Copy.StackLen,
						s.Copy.StackAsked,
						s.Regs.PC)
				}
			}
			if (got > 0) != (longest != 1) {
				t.Errorf("limit %d: %d more bytes read by OtherMemory", longest, got)
			}
		}
	})
}
