// SPDX-License-Identifier: Apache-2.0

package managed

// PthreadTID is the offset of the thread ID in glibc's struct pthread on x86-64 (nptl/descr.h), bytes.
const PthreadTID = 720
