// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/sys/unix"
)

// Values of include/uapi/linux/unix_diag.h.
const (
	unixDiagShowPeer = 4
	unixDiagPeer     = 2
	unixDiagRequest  = 24 // size of struct unix_diag_req
	unixDiagMessage  = 16 // size of struct unix_diag_msg
)

// unixPeer returns the inode of a Unix socket's other end in prywalk's network namespace, or "" (sock_diag(7)).
func unixPeer(inode string) string {
	n, err := strconv.ParseUint(inode, 10, 32)
	if err != nil {
		return ""
	}
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return ""
	}
	defer unix.Close(s)
	order := binary.NativeEndian
	request := order.AppendUint32(nil, unix.SizeofNlMsghdr+unixDiagRequest)
	request = order.AppendUint16(request, unix.SOCK_DIAG_BY_FAMILY)
	request = order.AppendUint16(request, unix.NLM_F_REQUEST)
	request = append(request, make([]byte, 8)...) // sequence number, port
	request = append(request, unix.AF_UNIX, 0, 0, 0)
	for _, word := range []uint32{^uint32(0), uint32(n), unixDiagShowPeer, ^uint32(0), ^uint32(0)} {
		request = order.AppendUint32(request, word) // states, inode, show, no cookie
	}
	if unix.Sendto(s, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		return ""
	}
	var reply [1024]byte
	got, _, err := unix.Recvfrom(s, reply[:], unix.MSG_DONTWAIT) // the kernel has answered within the call above
	if err != nil {
		return ""
	}
	return parseUnixPeer(reply[:got])
}

// parseUnixPeer returns the peer's inode in a reply of sock_diag(7).
func parseUnixPeer(reply []byte) string {
	order := binary.NativeEndian
	if len(reply) < unix.SizeofNlMsghdr+unixDiagMessage || order.Uint16(reply[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return ""
	}
	attributes := reply[unix.SizeofNlMsghdr+unixDiagMessage:]
	for len(attributes) >= 4 {
		size, kind := int(order.Uint16(attributes)), order.Uint16(attributes[2:])
		if size < 4 || size > len(attributes) {
			return ""
		}
		if kind == unixDiagPeer && size == 8 {
			return strconv.FormatUint(uint64(order.Uint32(attributes[4:])), 10)
		}
		attributes = attributes[min(len(attributes), (size+3)&^3):]
	}
	return ""
}
