// SPDX-License-Identifier: Apache-2.0

package fdlimit

// sysPrlimit64 is the number of prlimit64(2). Package unix, which has it, imports package syscall.
const sysPrlimit64 = 261
