// SPDX-License-Identifier: Apache-2.0

package procmem

// Touch writes to each page of a buffer of zeros: a later read into it waits for no page fault.
func Touch(b []byte) {
	for i := uint64(0); i < uint64(len(b)); i += pageSize {
		b[i] = 0
	}
	if len(b) > 0 {
		b[len(b)-1] = 0
	}
}
