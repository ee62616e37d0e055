// SPDX-License-Identifier: Apache-2.0

package view

import "prywalk/internal/namehints"

// ofKernel is the module of the kernel's functions.
const ofKernel = "[kernel]"

// support tells functions of the language and the system (1) from those of the program (0).
func (f *Frame) support() int {
	if f.Synthetic() || f.Module == ofKernel || namehints.Support(f.Name, f.Module) {
		return 1
	}
	return 0
}
