import { texts } from "../i18n.ts";
import { books } from "../strings/books.ts";

export const t = texts(books);
