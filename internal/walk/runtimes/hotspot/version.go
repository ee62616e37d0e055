// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"fmt"
	"strconv"
	"strings"
)

// Version returns "HotSpot 17.0.15" or "HotSpot 8u412", or "HotSpot" if unknown. JDK 8's own version is 25.
func (v *VM) Version() string {
	if v.version == "" {
		v.version = v.readVersion()
	}
	if v.version == "" {
		return productName
	}
	return productName + " " + v.version
}

const productName = "HotSpot"

func (v *VM) readVersion() string {
	m, l := v.memory(), v.layout
	text := l.staticAddress("Abstract_VM_Version::_s_vm_release")
	if text == 0 {
		return ""
	}
	release, _, _ := strings.Cut(m.name(m.word(text)), "+")
	release, _, _ = strings.Cut(release, "-")
	if strings.Trim(release, "0123456789.") != "" || m.failed {
		return ""
	}
	major, update, _ := strings.Cut(release, ".")
	if jdk := l.staticAddress("JDK_Version::_current"); jdk != 0 && major == "25" {
		var b [1]byte
		if m.bytes(jdk+l.offset("JDK_Version::_major"), b[:]); b[0] == 8 {
			update, _, _ = strings.Cut(update, ".")
			if n, err := strconv.Atoi(update); err == nil {
				return fmt.Sprintf("8u%d", n)
			}
			return "8"
		}
	}
	return release
}

func (n *nameLayout) readMajor(m *memory) bool {
	var b [1]byte
	if fields := n.firstComplete(wantRelease); len(fields) == 2 {
		m.bytes(n.staticAddress(fields[0])+n.offset(fields[1]), b[:])
		n.major = int(b[0])
	} else {
		n.major = int(m.int32(n.staticAddress(fields[0])))
	}
	return !m.failed && n.major >= 8 && n.major <= 99
}
