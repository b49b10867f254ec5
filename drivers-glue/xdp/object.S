/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* The BPF object as bytes of the program: nothing to install, and never of another version. */
	.section .rodata
	.global steer_object, steer_object_end
	.balign 8
steer_object:
	.incbin STEER_OBJECT
steer_object_end:
	.byte 0
	.section .note.GNU-stack, "", %progbits
