// SPDX-License-Identifier: Apache-2.0

package view

import "prywalk/internal/namehints"

const ofKernel = "[kernel]"

// support is 1 for functions of language and system, 0 for the program's.
func (f *Frame) support() int {
	if f.Synthetic() || f.Module == ofKernel || namehints.Support(f.Name, f.Module) {
		return 1
	}
	return 0
}
