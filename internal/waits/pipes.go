// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"os"
	"strconv"
	"strings"
)

type pipeEnd struct {
	Peer
	writes bool
}

func (f *OpenFiles) addPipePeers(d *OpenFile) {
	if f.pipeEnds == nil {
		f.pipeEnds = f.listPipeEnds()
	}
	reads := true
	for _, e := range f.pipeEnds[d.Path] {
		if e.PID == f.pid && e.FD == d.FD {
			reads = !e.writes
		}
	}
	for _, e := range f.pipeEnds[d.Path] {
		if e.writes == reads {
			d.Peers = append(d.Peers, e.Peer)
		}
	}
	if len(d.Peers) == 0 {
		d.State = "no process found at the other end"
	}
}

const maxPipes = 1 << 16

func (f *OpenFiles) listPipeEnds() map[string][]pipeEnd {
	out := map[string][]pipeEnd{}
	left := maxPipes
	entries, _ := os.ReadDir(f.root)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fds, _ := os.ReadDir(f.path(pid, "fd"))
		for _, d := range fds {
			fd, _ := strconv.Atoi(d.Name())
			link, _ := os.Readlink(f.path(pid, "fd/"+d.Name()))
			if !strings.HasPrefix(link, "pipe:") || left == 0 {
				continue
			}
			left--
			name := strings.TrimSpace(f.read(f.path(pid, "comm")))
			out[link] = append(out[link], pipeEnd{Peer{pid, name, fd}, f.writes(pid, fd)})
		}
	}
	return out
}

// O_ACCMODE and O_RDONLY (include/uapi/asm-generic/fcntl.h).
const accessMode, readOnly = 3, 0

func (f *OpenFiles) writes(pid, fd int) bool {
	for key, value := range f.info(pid, fd) {
		if key == "flags" {
			n, _ := strconv.ParseUint(value, 8, 64)
			return n&accessMode != readOnly
		}
	}
	return false
}
