package look

import (
	"bytes"
	"strconv"

	"prywalk/internal/procmem"
)

// ownFrames is how far from the stack pointer upwards memory is taken for the innermost frames of a thread, in bytes.
// They are those of the C library's wrapper and of its caller.
const ownFrames = 8 << 10

// own reports whether n bytes at an address are in the innermost frames of the thread that sleeps in
// a call. Nobody else reads or writes them while it sleeps, and they can be written.
func own(call *procmem.SyscallInfo, addr, n uint64) bool {
	return addr >= call.SP && n <= ownFrames && addr-call.SP <= ownFrames-n
}

// wordIsZero reports whether the word at an address of the thread's process is 0.
func (t *Thread) wordIsZero(addr uint64) bool {
	var word [8]byte
	n, err := procmem.ReadVM(t.TID, addr, word[:])
	return err == nil && n == len(word) && word == [8]byte{}
}

// plainFiles says which [Thread.plain] knows.
const plainFiles = "pipe, eventfd, timerfd, signalfd, inotify"

// plain reports whether a descriptor of the thread is one whose reads wait for a first byte and nothing else. The
// kernel restarts such reads with nothing done (fs/pipe.c, fs/eventfd.c, fs/timerfd.c, fs/signalfd.c,
// fs/notify/inotify/inotify_user.c). A terminal can have read a part (drivers/tty/n_tty.c, VMIN), and asks anew whose
// it is. A socket can have a time-out of its own, and a file system in user space is told.
//
// The table of descriptors is the thread's own, which it may not share with its process.
func (t *Thread) plain(fd int32) bool {
	var buf [24]byte
	table := "/proc/" + strconv.Itoa(t.PID) + "/task/" + strconv.Itoa(t.TID) + "/fd/"
	to, err := procmem.Readlink(table+strconv.Itoa(int(fd)), buf[:])
	if err != nil {
		return false
	}
	for _, kind := range [...]string{
		"pipe:[", "anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode:[signalfd]", "anon_inode:inotify",
	} {
		if bytes.HasPrefix(to, []byte(kind)) {
			return true
		}
	}
	return false
}
