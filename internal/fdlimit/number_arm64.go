// SPDX-License-Identifier: Apache-2.0

package fdlimit

// sysPrlimit64 is defined here, as package unix imports package syscall.
const sysPrlimit64 = 261
