package ptrace

import (
	"syscall"
	"testing"

	"prywalk/frames"
)

func TestCallsThatGaveUpBeginAgainOnlyWhereNothingIsDoneTwice(t *testing.T) {
	const creat = syscall.O_CREAT | syscall.O_WRONLY
	for _, c := range []struct {
		name          string
		nr            int64
		args          [3]uint64
		eagain        bool
		again, goesOn bool
	}{
		{"bpf, a program that is loaded", 321, [3]uint64{bpfProgLoad}, true, true, false},
		{"bpf, a program that is run", 321, [3]uint64{10}, false, false, false},
		{"bpf, another command", 321, [3]uint64{1}, true, false, false},
		{"fallocate", 285, [3]uint64{3, 0}, false, true, true},
		{"fallocate, keeping the size", 285, [3]uint64{3, 1}, false, true, true},
		{"fallocate, a range that is taken out", 285, [3]uint64{3, 8}, false, false, false},
		{"fallocate, a range that is put in", 285, [3]uint64{3, 0x20}, false, false, false},
		{"swapoff", 168, [3]uint64{}, false, true, true},
		{"ioctl, a virtual machine runs", 16, [3]uint64{5, 0xae80}, false, true, true},
		{"ioctl, another", 16, [3]uint64{5, 0x5421}, false, false, false},
		{"stat", 4, [3]uint64{}, false, true, false},
		{"openat", 257, [3]uint64{0, 0, syscall.O_RDWR}, false, true, false},
		{"openat, a new file", 257, [3]uint64{0, 0, creat}, false, false, false},
		{"open, a new file", 2, [3]uint64{0, creat}, false, false, false},
		{"read", 0, [3]uint64{}, true, false, false},
		{"mkdir", 83, [3]uint64{}, false, false, false},
		{"connect", 42, [3]uint64{}, false, false, false},
	} {
		again, goesOn := Amends(frames.X86_64, c.nr, c.args, c.eagain)
		if again != c.again || goesOn != c.goesOn {
			t.Errorf("%s: begins again %v, goes on %v", c.name, again, goesOn)
		}
		if again, _ := Amends(frames.AArch64, c.nr, c.args, c.eagain); again {
			t.Errorf("%s begins again on arm64", c.name)
		}
	}
}

func TestCallsThatTheKernelBeginsAgainAreToldTwice(t *testing.T) {
	for result := resultErrSys; result >= resultErrMost; result-- {
		for nr, want := range map[int64]amends{83: amendTold, 258: amendTold, 4: amendTold, 0: amendNone, 202: amendNone} {
			if got := amendsX86(&call{nr: nr, result: result}); got != want {
				t.Errorf("call %d, result %d: %d", nr, int64(result), got)
			}
		}
	}
	if got := amendsX86(&call{nr: 83, result: 0}); got != amendNone {
		t.Errorf("a call that succeeded: %d", got)
	}
}
