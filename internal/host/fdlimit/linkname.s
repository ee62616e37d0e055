/* SPDX-License-Identifier: Apache-2.0 */
// This file lets fdlimit.go declare a function that has its body in package syscall.
