// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/host/procmem"
)

// Peers finds the processes at the other ends of pipes and of connections on this machine, for a recorder. Not safe for
// concurrent use.
type Peers struct {
	ends     map[string][]endpoint // by link
	fifos    map[string][]endpoint // at most maxFIFOs, by the label of a named pipe
	unix     map[string]string     // links of Unix sockets' other ends
	nextScan int64                 // in nanoseconds of CLOCK_MONOTONIC
}

// listAgainAt calls list, and returns when it may be called again: it gets at most 1/200 of a CPU, however long it
// waits for one on a busy host.
func listAgainAt(now func() int64, list func()) int64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from := procmem.ThreadCPU()
	list()
	return now() + max(peersEvery, 200*int64(procmem.ThreadCPU()-from))
}

// NextLists is when the lists of sockets and of descriptors may both be read again, in nanoseconds of CLOCK_MONOTONIC.
func (p *Peers) NextLists(a *RemoteAddresses) int64 { return max(p.nextScan, a.nextRead) }

// Of returns " = ", the inode of the other end of a descriptor's link, and the processes that have it, or "". Of a
// connection that is not accepted yet the inode is 0, and the processes have the listening socket. It lists
// the descriptors of all processes again if the link is unknown or has changed its owner, by [listAgainAt].
func (p *Peers) Of(f *OpenFiles, a *RemoteAddresses, link string, fd int, now func() int64) string {
	other, pending := p.otherLink(f, a, link)
	if other == "" {
		return ""
	}
	ends := p.endsOf(other)
	known := len(ends) > 0 && !slices.ContainsFunc(ends, func(e endpoint) bool {
		own := NewOpenFiles(e.peer.PID)
		return own.NamedPipe(e.peer.FD, own.Link(e.peer.FD)) != other
	})
	if !known && now() >= p.nextScan {
		p.nextScan = listAgainAt(now, func() { p.list(f, other) })
		ends = p.endsOf(other)
	} else if !known {
		return ""
	}
	d := OpenFile{FD: FileNumber(fd), Path: link}
	d.addPeers(f.pid, ends, other == link)
	if len(d.Peers) == 0 {
		return ""
	}
	inode := inodeOf(other)
	if pending {
		inode = pendingInode
	}
	return " = [" + inode + "] " + d.peerNames()
}

func (p *Peers) endsOf(link string) []endpoint {
	if ends, ok := p.fifos[link]; ok {
		return ends
	}
	return p.ends[link]
}

func (p *Peers) list(f *OpenFiles, link string) {
	fifo, path := namedPipe(link)
	if fifo == "" {
		p.ends, p.unix = f.listEndpoints("", ""), nil
		return
	}
	if len(p.fifos) >= maxFIFOs || p.fifos == nil {
		p.fifos = map[string][]endpoint{}
	}
	p.fifos[link] = f.listEndpoints(path, fifo)[path]
}

// namedPipe parses [OpenFiles.NamedPipe]; the id of others is "".
func namedPipe(link string) (fifo, path string) {
	rest, isPipe := strings.CutPrefix(link, "pipe:[")
	id, path, named := strings.Cut(rest, "] /")
	if !isPipe || !named {
		return "", ""
	}
	return id, "/" + path
}

func (p *Peers) otherLink(f *OpenFiles, a *RemoteAddresses, link string) (other string, pending bool) {
	switch {
	case strings.HasPrefix(link, "pipe:["):
		return link, false
	case !strings.HasPrefix(link, "socket:["), p.unix[link] != "":
		return p.unix[link], false
	}
	inode := inodeOf(link)
	if other, pending = a.tables.otherEnd(f, inode); other == "" {
		return "", false
	}
	other = "socket:[" + other + "]"
	if strings.HasPrefix(a.tables.sockets[inode].local, "unix") {
		if p.unix == nil {
			p.unix = map[string]string{}
		}
		p.unix[link] = other
	}
	return other, pending
}

// addPeers adds the processes that have the other end. Those of a pipe read it if f writes, and write it if f reads.
// The process itself comes last: it has both ends of a pipe for its children, which have copied them.
func (f *OpenFile) addPeers(pid int, ends []endpoint, pipe bool) {
	isOwn := func(e *endpoint) bool { return e.peer.PID == pid && e.peer.FD == int(f.FD) }
	this := endpoint{reads: true}
	for i := range ends {
		if isOwn(&ends[i]) {
			this = ends[i]
		}
	}
	for _, own := range []bool{false, true} {
		for i := range ends {
			e := &ends[i]
			other := !pipe || !isOwn(e) && (this.reads && e.writes || this.writes && e.reads)
			if (e.peer.PID == pid) == own && other {
				f.Peers = append(f.Peers, e.peer)
			}
		}
	}
}

var peerText = regexp.MustCompile(`(.*?) \(pid (\d+)\)(?:, | and \d+ more$|$)`)

// Peers returns the processes with the other end of a socket or pipe.
func (l *ParsedLabel) Peers() (list []Peer) {
	for _, m := range peerText.FindAllStringSubmatch(l.Processes, -1) {
		pid, _ := strconv.Atoi(m[2])
		list = append(list, Peer{PID: pid, Name: m[1]})
	}
	return list
}
