// SPDX-License-Identifier: Apache-2.0

package fdlimit

const sysPrlimit64 = 261
