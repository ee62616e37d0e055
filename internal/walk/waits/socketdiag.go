// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"encoding/binary"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// socketDiag opens a socket of sock_diag(7) in the process's network namespace, which only root may enter
// (network_namespaces(7)).
func (f *OpenFiles) socketDiag() (fd int, err error) {
	open := func() {
		fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	}
	if f.Network() == NewOpenFiles(os.Getpid()).Network() {
		open()
		return fd, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // until the goroutine ends, and with it the thread
		var ns *os.File
		if ns, err = os.Open(f.path(f.pid, "ns/net")); err != nil {
			return
		}
		defer ns.Close()
		if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err == nil {
			open()
		}
	}()
	<-done
	return fd, err
}

// askSocketDiag passes the answers to a request without their headers.
func (f *OpenFiles) askSocketDiag(flags uint16, body []byte, take func(message []byte)) {
	s, err := f.socketDiag()
	if err != nil {
		return
	}
	defer unix.Close(s)
	order := binary.NativeEndian
	request := order.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	request = order.AppendUint16(request, unix.SOCK_DIAG_BY_FAMILY)
	request = order.AppendUint16(request, unix.NLM_F_REQUEST|flags)
	request = append(append(request, make([]byte, 8)...), body...) // sequence number, port
	if unix.Sendto(s, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		return
	}
	reply := make([]byte, 1<<16)
	for {
		n, _, err := unix.Recvfrom(s, reply, unix.MSG_DONTWAIT) // the kernel answers within the calls
		if err != nil || n == 0 || !eachMessage(reply[:n], take) {
			return
		}
	}
}

// eachMessage passes the messages of a reply, and returns false after the last of all.
func eachMessage(reply []byte, take func(message []byte)) bool {
	for len(reply) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(reply))
		if size < unix.SizeofNlMsghdr || size > len(reply) ||
			binary.NativeEndian.Uint16(reply[4:]) != unix.SOCK_DIAG_BY_FAMILY {
			return false
		}
		take(reply[unix.SizeofNlMsghdr:size])
		reply = reply[min(len(reply), (size+3)&^3):]
	}
	return true
}

// diagAttribute returns the value of an attribute (struct rtattr), or nil if it is absent.
func diagAttribute(attributes []byte, wanted uint16) []byte {
	order := binary.NativeEndian
	for len(attributes) >= unix.SizeofRtAttr {
		size := int(order.Uint16(attributes))
		if size < unix.SizeofRtAttr || size > len(attributes) {
			return nil
		}
		if order.Uint16(attributes[2:]) == wanted {
			return attributes[unix.SizeofRtAttr:size]
		}
		attributes = attributes[min(len(attributes), (size+3)&^3):]
	}
	return nil
}

// Values of include/uapi/linux/unix_diag.h.
const (
	unixDiagShowPeer = 4
	unixDiagPeer     = 2
	unixDiagMessage  = 16 // size of struct unix_diag_msg
)

// unixPeer returns the inode of a Unix socket's other end, or "".
func (f *OpenFiles) unixPeer(inode string) (peer string) {
	n, err := strconv.ParseUint(inode, 10, 32)
	if err != nil {
		return ""
	}
	body := []byte{unix.AF_UNIX, 0, 0, 0}
	for _, word := range []uint32{^uint32(0), uint32(n), unixDiagShowPeer, ^uint32(0), ^uint32(0)} {
		body = binary.NativeEndian.AppendUint32(body, word) // states, inode, show, no cookie
	}
	f.askSocketDiag(0, body, func(m []byte) { peer = parseUnixPeer(m) })
	return peer
}

// parseUnixPeer returns the peer's inode in a message of sock_diag(7), or "".
func parseUnixPeer(m []byte) string {
	if len(m) < unixDiagMessage {
		return ""
	}
	peer := diagAttribute(m[unixDiagMessage:], unixDiagPeer)
	if len(peer) != 4 {
		return ""
	}
	return strconv.FormatUint(uint64(binary.NativeEndian.Uint32(peer)), 10)
}
