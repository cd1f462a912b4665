// The bundler's results for files that are not scripts: the address of a picture; a style sheet becomes a part of the
// page's.

declare module "*.svg" {
  const address: string;
  export default address;
}

declare module "*.css";
