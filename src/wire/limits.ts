/** The limits that every request meets, stated once. */

export const largestBody = 64 * 1024;
/** Of one that is a list of what may be many. */
export const largestList = 1024 * 1024;
/** The address and the headers together. */
export const largestHead = 16 * 1024;

export const defaultPageSize = 20;
export const largestPageSize = 100;

export const inKiB = (bytes: number): string => `${bytes / 1024} KiB`;
